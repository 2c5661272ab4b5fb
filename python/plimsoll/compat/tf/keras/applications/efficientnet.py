"""EfficientNet: Tan and Le, 2019."""

from __future__ import annotations

import math
from typing import Any, Callable

from .. import layers
from .imagenet_utils import (
    activated, decode_predictions as decode_predictions, finished, padding_of, picture, pooled,
)

# Kernel, repeats, filters in and out, expansion, stride.
_BLOCKS = (
    (3, 1, 32, 16, 1, 1), (3, 2, 16, 24, 6, 2), (5, 2, 24, 40, 6, 2), (3, 3, 40, 80, 6, 2), (5, 3, 80, 112, 6, 1),
    (5, 4, 112, 192, 6, 2), (3, 1, 192, 320, 6, 1),
)
_CONV = {"class_name": "VarianceScaling",
         "config": {"scale": 2.0, "mode": "fan_out", "distribution": "truncated_normal"}}
_DENSE = {"class_name": "VarianceScaling",
          "config": {"scale": 1.0 / 3.0, "mode": "fan_out", "distribution": "uniform"}}


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """`x` itself: scaling is part of the model."""
    return x


def _conv(x: Any, filters: int, name: str, **more: Any) -> Any:
    return layers.Conv2D(filters, more.pop("kernel", 1), kernel_initializer=_CONV, name=name, **more)(x)


def _normed(x: Any, norm: str, activation: str, kind: Any) -> Any:
    return activated(layers.BatchNormalization(name=norm)(x), activation, kind)


def _block(
    inputs: Any, kind: Any, dropped: float, name: str, before: int, after: int, kernel: int, stride: int, expand: int
) -> Any:
    x, filters = inputs, before * expand
    if expand != 1:
        x = _conv(x, filters, f"{name}expand_conv", padding="same", use_bias=False)
        x = _normed(x, f"{name}expand_bn", f"{name}expand_activation", kind)
    if stride == 2:
        x = layers.ZeroPadding2D(padding_of(x, kernel), name=f"{name}dwconv_pad")(x)
    x = layers.DepthwiseConv2D(
        kernel, strides=stride, padding="valid" if stride == 2 else "same", use_bias=False,
        depthwise_initializer=_CONV, name=f"{name}dwconv",
    )(x)
    x = _normed(x, f"{name}bn", f"{name}activation", kind)
    gate = layers.GlobalAveragePooling2D(name=f"{name}se_squeeze")(x)
    gate = layers.Reshape((1, 1, filters), name=f"{name}se_reshape")(gate)
    gate = _conv(gate, max(1, before // 4), f"{name}se_reduce", padding="same", activation=kind)
    gate = _conv(gate, filters, f"{name}se_expand", padding="same", activation="sigmoid")
    x = layers.Multiply(name=f"{name}se_excite")([x, gate])
    x = _conv(x, after, f"{name}project_conv", padding="same", use_bias=False)
    x = layers.BatchNormalization(name=f"{name}project_bn")(x)
    if stride == 1 and before == after:
        if dropped > 0:
            x = layers.Dropout(dropped, noise_shape=(None, 1, 1, 1), name=f"{name}drop")(x)
        x = layers.Add(name=f"{name}add")([x, inputs])
    return x


def _maker(function: str, width: float, depth: float, size: int, rate: float) -> Callable[..., Any]:
    def scaled(filters: int) -> int:
        wanted = filters * width
        made = max(8, int(wanted + 4) // 8 * 8)
        return made + 8 if made < 0.9 * wanted else made

    def make(
        include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, input_shape: Any = None,
        pooling: str | None = None, classes: int = 1000, classifier_activation: Any = "softmax",
        name: str = function.lower(), dropout_rate: float = rate, drop_connect_rate: float = 0.2,
        activation: Any = "swish",
    ) -> Any:
        inputs = picture(input_tensor, input_shape, size, 32, include_top, weights)
        x = layers.Normalization(axis=-1)(layers.Rescaling(1.0 / 255.0)(inputs))
        x = layers.ZeroPadding2D(padding_of(x, 3), name="stem_conv_pad")(x)
        x = _conv(x, scaled(32), "stem_conv", kernel=3, strides=2, padding="valid", use_bias=False)
        x = _normed(x, "stem_bn", "stem_activation", activation)
        total = float(sum(math.ceil(depth * repeats) for _, repeats, *_ in _BLOCKS))
        done = 0
        for i, (kernel, repeats, before, after, expand, stride) in enumerate(_BLOCKS):
            for j in range(math.ceil(depth * repeats)):
                x = _block(
                    x, activation, drop_connect_rate * done / total, f"block{i + 1}{chr(j + 97)}_",
                    scaled(before if j == 0 else after), scaled(after), kernel, stride if j == 0 else 1, expand,
                )
                done += 1
        x = _conv(x, scaled(1280), "top_conv", padding="same", use_bias=False)
        x = _normed(x, "top_bn", "top_activation", activation)
        if include_top:
            x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
            if dropout_rate > 0:
                x = layers.Dropout(dropout_rate, name="top_dropout")(x)
            x = layers.Dense(classes, activation=classifier_activation, kernel_initializer=_DENSE, name="predictions")(x)
        else:
            x = pooled(x, pooling)
        return finished(inputs, x, name, weights)

    make.__name__ = make.__qualname__ = function
    return make


EfficientNetB0 = _maker("EfficientNetB0", 1.0, 1.0, 224, 0.2)
EfficientNetB1 = _maker("EfficientNetB1", 1.0, 1.1, 240, 0.2)
EfficientNetB2 = _maker("EfficientNetB2", 1.1, 1.2, 260, 0.3)
EfficientNetB3 = _maker("EfficientNetB3", 1.2, 1.4, 300, 0.3)
EfficientNetB4 = _maker("EfficientNetB4", 1.4, 1.8, 380, 0.4)
EfficientNetB5 = _maker("EfficientNetB5", 1.6, 2.2, 456, 0.4)
EfficientNetB6 = _maker("EfficientNetB6", 1.8, 2.6, 528, 0.5)
EfficientNetB7 = _maker("EfficientNetB7", 2.0, 3.1, 600, 0.5)
