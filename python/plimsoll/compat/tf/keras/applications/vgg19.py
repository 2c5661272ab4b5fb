"""VGG19."""

from __future__ import annotations

from typing import Any

from ._vgg import vgg
from .imagenet_utils import decode_predictions as decode_predictions, preprocess_input as preprocess_input


def VGG19(
    include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, input_shape: Any = None,
    pooling: str | None = None, classes: int = 1000, classifier_activation: Any = "softmax", name: str = "vgg19",
) -> Any:
    return vgg(name, (2, 2, 4, 4, 4), include_top, weights, input_tensor, input_shape, pooling, classes,
               classifier_activation)
