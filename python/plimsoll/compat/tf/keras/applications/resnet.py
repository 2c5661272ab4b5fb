"""ResNet50, ResNet101 and ResNet152."""

from __future__ import annotations

from ._resnet import first_version, maker
from .imagenet_utils import decode_predictions as decode_predictions, preprocess_input as preprocess_input

ResNet50 = maker("ResNet50", "resnet50", (3, 4, 6, 3), first_version)
ResNet101 = maker("ResNet101", "resnet101", (3, 4, 23, 3), first_version)
ResNet152 = maker("ResNet152", "resnet152", (3, 8, 36, 3), first_version)
