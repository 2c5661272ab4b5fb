"""MobileNetV2: Sandler et al., 2018."""

from __future__ import annotations

from typing import Any

from .. import layers
from . import imagenet_utils
from .imagenet_utils import (
    decode_predictions as decode_predictions, finished, padding_of, picture, pooled,
)

# Filters, stride of the first, and how many blocks.
_BLOCKS = ((16, 1, 1), (24, 2, 2), (32, 2, 3), (64, 2, 4), (96, 1, 3), (160, 2, 3), (320, 1, 1))


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    return imagenet_utils.preprocess_input(x, data_format, "tf")


def _divisible(value: float, by: int = 8) -> int:
    made = max(by, int(value + by / 2) // by * by)
    return made + by if made < 0.9 * value else made


def _norm(x: Any, name: str) -> Any:
    return layers.BatchNormalization(epsilon=1e-3, momentum=0.999, name=name)(x)


def _block(inputs: Any, filters: int, stride: int, number: int) -> Any:
    channels = int(inputs.shape[-1])
    prefix = f"block_{number}_" if number else "expanded_conv_"
    x = inputs
    if number:
        x = layers.Conv2D(6 * channels, 1, padding="same", use_bias=False, name=f"{prefix}expand")(x)
        x = layers.ReLU(6.0, name=f"{prefix}expand_relu")(_norm(x, f"{prefix}expand_BN"))
    if stride == 2:
        x = layers.ZeroPadding2D(padding_of(x, 3), name=f"{prefix}pad")(x)
    x = layers.DepthwiseConv2D(
        3, strides=stride, use_bias=False, padding="same" if stride == 1 else "valid", name=f"{prefix}depthwise"
    )(x)
    x = layers.ReLU(6.0, name=f"{prefix}depthwise_relu")(_norm(x, f"{prefix}depthwise_BN"))
    x = layers.Conv2D(filters, 1, padding="same", use_bias=False, name=f"{prefix}project")(x)
    x = _norm(x, f"{prefix}project_BN")
    if channels == filters and stride == 1:
        return layers.Add(name=f"{prefix}add")([inputs, x])
    return x


def MobileNetV2(
    input_shape: Any = None, alpha: float = 1.0, include_top: bool = True, weights: Any = "imagenet",
    input_tensor: Any = None, pooling: str | None = None, classes: int = 1000,
    classifier_activation: Any = "softmax", name: str | None = None,
) -> Any:
    inputs = picture(input_tensor, input_shape, 224, 32, include_top, weights)
    x = layers.Conv2D(_divisible(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="Conv1")(inputs)
    x = layers.ReLU(6.0, name="Conv1_relu")(_norm(x, "bn_Conv1"))
    number = 0
    for filters, first, count in _BLOCKS:
        for i in range(count):
            x = _block(x, _divisible(int(filters * alpha)), first if i == 0 else 1, number)
            number += 1
    x = layers.Conv2D(_divisible(1280 * alpha) if alpha > 1 else 1280, 1, use_bias=False, name="Conv_1")(x)
    x = layers.ReLU(6.0, name="out_relu")(_norm(x, "Conv_1_bn"))
    if include_top:
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Dense(classes, activation=classifier_activation, name="predictions")(x)
    else:
        x = pooled(x, pooling, names=False)
    rows = inputs.shape[1]
    return finished(inputs, x, name or f"mobilenetv2_{alpha:0.2f}_{224 if rows is None else rows}", weights)
