"""keras.applications: architectures with Keras's layers, names and order of weights. Nothing is downloaded."""

from __future__ import annotations

import importlib
from typing import Any

_MODELS = {
    "vgg16": "VGG16", "vgg19": "VGG19", "resnet50": "ResNet50", "resnet": "ResNet50 ResNet101 ResNet152",
    "resnet_v2": "ResNet50V2 ResNet101V2 ResNet152V2", "mobilenet": "MobileNet", "mobilenet_v2": "MobileNetV2",
    "densenet": "DenseNet121 DenseNet169 DenseNet201",
    "efficientnet": " ".join(f"EfficientNetB{i}" for i in range(8)), "xception": "Xception",
}
_WHERE = {name: module for module, names in _MODELS.items() for name in names.split()}


def __dir__() -> list[str]:
    return sorted([*_MODELS, *_WHERE, "imagenet_utils"])


def __getattr__(name: str) -> Any:
    if name in _MODELS or name == "imagenet_utils":
        return importlib.import_module(f"{__name__}.{name}")
    if name in _WHERE:
        return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    if name.startswith("__"):
        raise AttributeError(name)
    from ..._names import missing

    missing(f"tf.keras.applications.{name}", list(_WHERE))
