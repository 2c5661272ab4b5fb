"""ResNet50V2, ResNet101V2 and ResNet152V2."""

from __future__ import annotations

from typing import Any

from . import imagenet_utils
from ._resnet import maker, second_version
from .imagenet_utils import decode_predictions as decode_predictions

ResNet50V2 = maker("ResNet50V2", "resnet50v2", (3, 4, 6, 3), second_version)
ResNet101V2 = maker("ResNet101V2", "resnet101v2", (3, 4, 23, 3), second_version)
ResNet152V2 = maker("ResNet152V2", "resnet152v2", (3, 8, 36, 3), second_version)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    return imagenet_utils.preprocess_input(x, data_format, "tf")
