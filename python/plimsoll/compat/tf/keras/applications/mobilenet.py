"""MobileNet: Howard et al., 2017."""

from __future__ import annotations

from typing import Any

from .. import layers
from . import imagenet_utils
from .imagenet_utils import decode_predictions as decode_predictions, finished, picture, pooled

# Filters and stride of each pair of convolutions.
_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    return imagenet_utils.preprocess_input(x, data_format, "tf")


def _normed(x: Any, name: str) -> Any:
    return layers.ReLU(6.0, name=f"{name}_relu")(layers.BatchNormalization(name=f"{name}_bn")(x))


def MobileNet(
    input_shape: Any = None, alpha: float = 1.0, depth_multiplier: int = 1, dropout: float = 1e-3,
    include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, pooling: str | None = None,
    classes: int = 1000, classifier_activation: Any = "softmax", name: str | None = None,
) -> Any:
    inputs = picture(input_tensor, input_shape, 224, 32, include_top, weights)
    x = layers.Conv2D(int(32 * alpha), 3, padding="same", use_bias=False, strides=2, name="conv1")(inputs)
    x = _normed(x, "conv1")
    for i, (filters, stride) in enumerate(_BLOCKS, 1):
        if stride > 1:
            x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{i}")(x)
        x = layers.DepthwiseConv2D(
            3, padding="same" if stride == 1 else "valid", depth_multiplier=depth_multiplier, strides=stride,
            use_bias=False, name=f"conv_dw_{i}",
        )(x)
        x = _normed(x, f"conv_dw_{i}")
        x = layers.Conv2D(int(filters * alpha), 1, padding="same", use_bias=False, name=f"conv_pw_{i}")(x)
        x = _normed(x, f"conv_pw_{i}")
    if include_top:
        x = layers.GlobalAveragePooling2D(keepdims=True)(x)
        x = layers.Dropout(dropout, name="dropout")(x)
        x = layers.Conv2D(classes, 1, padding="same", name="conv_preds")(x)
        x = layers.Reshape((classes,), name="reshape_2")(x)
        x = layers.Activation(classifier_activation, name="predictions")(x)
    else:
        x = pooled(x, pooling, names=False)
    rows = inputs.shape[1]
    return finished(inputs, x, name or f"mobilenet_{alpha:0.2f}_{224 if rows is None else rows}", weights)
