"""Xception: Chollet, 2016."""

from __future__ import annotations

from typing import Any

from .. import layers
from . import imagenet_utils
from .imagenet_utils import activated, decode_predictions as decode_predictions, finished, picture, pooled


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    return imagenet_utils.preprocess_input(x, data_format, "tf")


def _separable(x: Any, filters: int, name: str) -> Any:
    x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return layers.BatchNormalization(name=f"{name}_bn")(x)


def _entry(x: Any, block: int, first: int, second: int, begins: bool = True) -> Any:
    """Two separable convolutions and pooling beside a projection."""
    residual = layers.Conv2D(second, 1, strides=2, padding="same", use_bias=False)(x)
    residual = layers.BatchNormalization()(residual)
    if begins:
        x = activated(x, f"block{block}_sepconv1_act")
    x = _separable(x, first, f"block{block}_sepconv1")
    x = activated(x, f"block{block}_sepconv2_act")
    x = _separable(x, second, f"block{block}_sepconv2")
    x = layers.MaxPooling2D(3, strides=2, padding="same", name=f"block{block}_pool")(x)
    return layers.Add()([x, residual])


def Xception(
    include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, input_shape: Any = None,
    pooling: str | None = None, classes: int = 1000, classifier_activation: Any = "softmax", name: str = "xception",
) -> Any:
    inputs = picture(input_tensor, input_shape, 299, 71, include_top, weights)
    x = layers.Conv2D(32, 3, strides=2, use_bias=False, name="block1_conv1")(inputs)
    x = activated(layers.BatchNormalization(name="block1_conv1_bn")(x), "block1_conv1_act")
    x = layers.Conv2D(64, 3, use_bias=False, name="block1_conv2")(x)
    x = activated(layers.BatchNormalization(name="block1_conv2_bn")(x), "block1_conv2_act")
    x = _entry(x, 2, 128, 128, begins=False)
    x = _entry(x, 3, 256, 256)
    x = _entry(x, 4, 728, 728)
    for block in range(5, 13):
        residual = x
        for i in (1, 2, 3):
            x = activated(x, f"block{block}_sepconv{i}_act")
            x = _separable(x, 728, f"block{block}_sepconv{i}")
        x = layers.Add()([x, residual])
    x = _entry(x, 13, 728, 1024)
    x = activated(_separable(x, 1536, "block14_sepconv1"), "block14_sepconv1_act")
    x = activated(_separable(x, 2048, "block14_sepconv2"), "block14_sepconv2_act")
    if include_top:
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers.Dense(classes, activation=classifier_activation, name="predictions")(x)
    else:
        x = pooled(x, pooling, names=False)
    return finished(inputs, x, name, weights)
