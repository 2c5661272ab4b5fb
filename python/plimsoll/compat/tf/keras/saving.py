"""keras.saving."""

from __future__ import annotations

from ._config import (
    CustomObjectScope as CustomObjectScope, custom_object_scope as custom_object_scope,
    get_custom_objects as get_custom_objects, register_keras_serializable as register_keras_serializable,
    registered_name as get_registered_name,
)
from .layers._registry import (
    deserialize as deserialize_keras_object, serialize as serialize_keras_object,
)
from .models import load_model as load_model, save_model as save_model

__all__ = ["CustomObjectScope", "custom_object_scope", "deserialize_keras_object", "get_custom_objects",
           "get_registered_name", "load_model", "register_keras_serializable", "save_model",
           "serialize_keras_object"]
