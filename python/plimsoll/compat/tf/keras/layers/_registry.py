"""Layers by name, for configurations."""

from __future__ import annotations

from typing import Any

from .._config import get_custom_objects
from ._layer import Layer


def find_layer(name: str) -> Any:
    """The class of that name, ours or registered; None if there is none."""
    from .. import layers, models

    found = get_custom_objects().get(name)
    if found is None and ">" in name:
        found = get_custom_objects().get(name.split(">")[-1])
    if found is None:
        found = getattr(models, name, None) if name in ("Sequential", "Functional", "Model") else None
    if found is None:
        found = vars(layers).get(name)
    return found if isinstance(found, type) and issubclass(found, Layer) else None


def serialize(layer: Any) -> dict[str, Any]:
    found: dict[str, Any] = layer.serialized()
    return found


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    if isinstance(config, Layer):
        return config
    from .._config import CustomObjectScope

    with CustomObjectScope(custom_objects or {}):
        found = find_layer(config["class_name"])
        if found is None:
            raise ValueError(f"Unknown layer: '{config['class_name']}'. Pass it in custom_objects, or "
                             "register it with keras.saving.register_keras_serializable()")
        return found.from_config(config["config"])
