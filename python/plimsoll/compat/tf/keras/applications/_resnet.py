"""Residual networks, as first published (He et al., 2015) and with activations before convolutions (2016)."""

from __future__ import annotations

from typing import Any, Callable

from .. import layers
from .imagenet_utils import activated, finished, picture, pooled

_EPSILON = 1.001e-5
FILTERS = (64, 128, 256, 512)


def _norm(x: Any, name: str) -> Any:
    return layers.BatchNormalization(epsilon=_EPSILON, name=name)(x)


def _block(x: Any, filters: int, stride: int, projects: bool, name: str) -> Any:
    shortcut = x
    if projects:
        shortcut = _norm(layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(x), f"{name}_0_bn")
    x = layers.Conv2D(filters, 1, strides=stride, name=f"{name}_1_conv")(x)
    x = activated(_norm(x, f"{name}_1_bn"), f"{name}_1_relu")
    x = layers.Conv2D(filters, 3, padding="same", name=f"{name}_2_conv")(x)
    x = activated(_norm(x, f"{name}_2_bn"), f"{name}_2_relu")
    x = _norm(layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x), f"{name}_3_bn")
    return activated(layers.Add(name=f"{name}_add")([shortcut, x]), f"{name}_out")


def _block_v2(x: Any, filters: int, stride: int, projects: bool, name: str) -> Any:
    before = activated(_norm(x, f"{name}_preact_bn"), f"{name}_preact_relu")
    if projects:
        shortcut = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(before)
    else:
        shortcut = layers.MaxPooling2D(1, strides=stride)(x) if stride > 1 else x
    x = layers.Conv2D(filters, 1, use_bias=False, name=f"{name}_1_conv")(before)
    x = activated(_norm(x, f"{name}_1_bn"), f"{name}_1_relu")
    x = layers.ZeroPadding2D(1, name=f"{name}_2_pad")(x)
    x = layers.Conv2D(filters, 3, strides=stride, use_bias=False, name=f"{name}_2_conv")(x)
    x = activated(_norm(x, f"{name}_2_bn"), f"{name}_2_relu")
    x = layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    return layers.Add(name=f"{name}_out")([shortcut, x])


def first_version(x: Any, depths: tuple[int, ...]) -> Any:
    for stack, (filters, depth) in enumerate(zip(FILTERS, depths), 2):
        for i in range(1, depth + 1):
            stride = 2 if i == 1 and stack > 2 else 1
            x = _block(x, filters, stride, i == 1, f"conv{stack}_block{i}")
    return x


def second_version(x: Any, depths: tuple[int, ...]) -> Any:
    for stack, (filters, depth) in enumerate(zip(FILTERS, depths), 2):
        for i in range(1, depth + 1):
            stride = 2 if i == depth and stack < 5 else 1
            x = _block_v2(x, filters, stride, i == 1, f"conv{stack}_block{i}")
    return x


def resnet(
    name: str, depths: tuple[int, ...], blocks: Callable[[Any, tuple[int, ...]], Any], include_top: bool,
    weights: Any, input_tensor: Any, input_shape: Any, pooling: str | None, classes: int,
    classifier_activation: Any,
) -> Any:
    inputs = x = picture(input_tensor, input_shape, 224, 32, include_top, weights)
    x = layers.ZeroPadding2D(3, name="conv1_pad")(x)
    x = layers.Conv2D(64, 7, strides=2, name="conv1_conv")(x)
    if blocks is first_version:
        x = activated(_norm(x, "conv1_bn"), "conv1_relu")
    x = layers.ZeroPadding2D(1, name="pool1_pad")(x)
    x = layers.MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    x = blocks(x, depths)
    if blocks is second_version:
        x = activated(_norm(x, "post_bn"), "post_relu")
    if include_top:
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers.Dense(classes, activation=classifier_activation, name="predictions")(x)
    else:
        x = pooled(x, pooling)
    return finished(inputs, x, name, weights)


def maker(function: str, name: str, depths: tuple[int, ...], blocks: Callable[..., Any]) -> Callable[..., Any]:
    """A public function of keras.applications."""

    def make(
        include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, input_shape: Any = None,
        pooling: str | None = None, classes: int = 1000, classifier_activation: Any = "softmax", name: str = name,
    ) -> Any:
        return resnet(name, depths, blocks, include_top, weights, input_tensor, input_shape, pooling, classes,
                      classifier_activation)

    make.__name__ = make.__qualname__ = function
    return make
