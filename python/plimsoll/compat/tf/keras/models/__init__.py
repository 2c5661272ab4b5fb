"""Models: functional, sequential, subclassed."""

from __future__ import annotations

from typing import Any

from ._model import Functional as Functional, Model as Model
from ._saving import load_model as load_model, save_model as save_model
from ._sequential import Sequential as Sequential


def clone_model(model: Any, input_tensors: Any = None, clone_function: Any = None, **_: Any) -> Any:
    """A model of the same layers with weights of its own."""
    if input_tensors is not None or clone_function is not None:
        raise NotImplementedError("clone_model(input_tensors=, clone_function=) are not supported")
    if getattr(model, "_graph", None) is not None and model._graph.has_ops():
        return model._graph.cloned(model)  # calls of ops have no configuration
    return type(model).from_config(model.get_config())


def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    import json

    from ..layers._registry import deserialize

    return deserialize(json.loads(json_string), custom_objects)
