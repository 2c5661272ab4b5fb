"""DenseNet: Huang et al., 2016."""

from __future__ import annotations

from typing import Any, Callable

from .. import layers
from . import imagenet_utils
from .imagenet_utils import activated, decode_predictions as decode_predictions, finished, picture, pooled


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    return imagenet_utils.preprocess_input(x, data_format, "torch")


def _normed(x: Any, norm: str, relu: str) -> Any:
    return activated(layers.BatchNormalization(epsilon=1.001e-5, name=norm)(x), relu)


def _block(x: Any, name: str) -> Any:
    more = _normed(x, f"{name}_0_bn", f"{name}_0_relu")
    more = layers.Conv2D(128, 1, use_bias=False, name=f"{name}_1_conv")(more)
    more = _normed(more, f"{name}_1_bn", f"{name}_1_relu")
    more = layers.Conv2D(32, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(more)
    return layers.Concatenate(name=f"{name}_concat")([x, more])


def _transition(x: Any, name: str) -> Any:
    x = _normed(x, f"{name}_bn", f"{name}_relu")
    x = layers.Conv2D(int(x.shape[-1]) // 2, 1, use_bias=False, name=f"{name}_conv")(x)
    return layers.AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


def _maker(function: str, depths: tuple[int, ...]) -> Callable[..., Any]:
    def make(
        include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, input_shape: Any = None,
        pooling: str | None = None, classes: int = 1000, classifier_activation: Any = "softmax",
        name: str = function.lower(),
    ) -> Any:
        inputs = picture(input_tensor, input_shape, 224, 32, include_top, weights)
        x = layers.ZeroPadding2D(3)(inputs)
        x = layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1_conv")(x)
        x = _normed(x, "conv1_bn", "conv1_relu")
        x = layers.MaxPooling2D(3, strides=2, name="pool1")(layers.ZeroPadding2D(1)(x))
        for stack, depth in enumerate(depths, 2):
            for i in range(1, depth + 1):
                x = _block(x, f"conv{stack}_block{i}")
            if stack < 5:
                x = _transition(x, f"pool{stack}")
        x = _normed(x, "bn", "relu")
        if include_top:
            x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
            x = layers.Dense(classes, activation=classifier_activation, name="predictions")(x)
        else:
            x = pooled(x, pooling)
        return finished(inputs, x, name, weights)

    make.__name__ = make.__qualname__ = function
    return make


DenseNet121 = _maker("DenseNet121", (6, 12, 24, 16))
DenseNet169 = _maker("DenseNet169", (6, 12, 32, 32))
DenseNet201 = _maker("DenseNet201", (6, 12, 48, 32))
