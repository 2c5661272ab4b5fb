"""keras.applications: models of the library take their place."""

from __future__ import annotations

from typing import Any

_NEAREST = {"ResNet50": "resnet50", "ResNet50V2": "resnet50", "EfficientNetB0": "efficientnet_b0",
            "ConvNeXtTiny": "convnext_t"}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    near = _NEAREST.get(name)
    way = f"pm.nn.make_model(\"{near}\") is that model" if near else (
        "pm.nn.list_models() has models by name, such as resnet50 and efficientnet_b0")
    raise NotImplementedError(f"keras.applications.{name} is not supported; {way}")
