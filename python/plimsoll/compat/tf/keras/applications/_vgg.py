"""VGG: Simonyan and Zisserman, 2014."""

from __future__ import annotations

from typing import Any

from .. import layers
from .imagenet_utils import finished, picture, pooled


def vgg(
    name: str, depths: tuple[int, ...], include_top: bool, weights: Any, input_tensor: Any, input_shape: Any,
    pooling: str | None, classes: int, classifier_activation: Any,
) -> Any:
    inputs = x = picture(input_tensor, input_shape, 224, 32, include_top, weights)
    for block, (depth, filters) in enumerate(zip(depths, (64, 128, 256, 512, 512)), 1):
        for i in range(1, depth + 1):
            x = layers.Conv2D(filters, 3, activation="relu", padding="same", name=f"block{block}_conv{i}")(x)
        x = layers.MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
    if include_top:
        x = layers.Flatten(name="flatten")(x)
        x = layers.Dense(4096, activation="relu", name="fc1")(x)
        x = layers.Dense(4096, activation="relu", name="fc2")(x)
        x = layers.Dense(classes, activation=classifier_activation, name="predictions")(x)
    else:
        x = pooled(x, pooling, names=False)
    return finished(inputs, x, name, weights)
