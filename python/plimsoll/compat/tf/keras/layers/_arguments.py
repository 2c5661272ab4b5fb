"""What layers are made and called with: values that can be written down, tensors, shapes, masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _nest
from ..._symbolic import symbolic_input
from ..._tensor import Tensor
from .._base import convert
from .._config import Configured

_LEAVES = (bool, int, float, str, bytes, type(None))


def plain(value: Any, owner: str, name: str) -> Any:
    """A value that JSON has, or the configuration of an object."""
    if isinstance(value, Configured):
        return value.serialized()
    if isinstance(value, (list, tuple)):
        return [plain(each, owner, name) for each in value]
    if isinstance(value, dict):
        return {key: plain(each, owner, name) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, _LEAVES):
        return value
    if isinstance(value, type) or callable(value):
        from .._config import registered_name

        return registered_name(value)
    if hasattr(value, "name"):
        return value.name
    raise NotImplementedError(
        f"Layer {owner} was created by passing the non-serializable argument {name}={value!r}; "
        "override get_config()"
    )


def revived(value: Any) -> Any:
    """A layer of its configuration; other objects are made by those who take them."""
    if isinstance(value, dict) and set(value) >= {"class_name", "config"}:
        from ._registry import find_layer

        found = find_layer(value["class_name"])
        if found is not None:
            return found.from_config(value["config"])
    return value


def inputs_of(shape: Any, dtype: str) -> Any:
    if isinstance(shape, dict):
        return {key: inputs_of(each, dtype) for key, each in shape.items()}
    if isinstance(shape, list) and shape and isinstance(shape[0], (list, tuple)):
        return [inputs_of(each, dtype) for each in shape]
    return symbolic_input(shape, dtype)


def tensors(values: Any) -> Any:
    """Arrays among the arguments as tensors; tensors as they are."""
    def leaf(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return convert(x.astype(np.float32) if x.dtype == np.float64 else x)
        return x

    return _nest.map_structure(leaf, values)


def mask_of(x: Any) -> Any:
    if isinstance(x, Tensor):
        return getattr(x, "_keras_mask", None)
    if isinstance(x, (list, tuple)):
        found = [mask_of(each) for each in x]
        return found if any(each is not None for each in found) else None
    return None


def another(values: Any) -> Any:
    """The same tensors; those with masks as other objects, which can lose their masks by themselves."""
    def leaf(x: Any) -> Any:
        mask = mask_of(x) if isinstance(x, Tensor) else None
        if mask is None:
            return x
        made = Tensor(x._value)
        made._keras_mask = mask
        return made

    return _nest.map_structure(leaf, values)


def named(attributes: dict[str, Any], wanted: list[Any]) -> dict[str, Any]:
    """Those wanted under the names of the attributes that hold them, also in lists and dicts; others by number."""
    left = {id(each): each for each in wanted}
    found: dict[str, Any] = {}

    def look(name: str, value: Any) -> None:
        if id(value) in left:
            found[name] = left.pop(id(value))
        elif isinstance(value, (list, tuple)):
            for i, each in enumerate(value):
                look(f"{name}/{i}", each)
        elif isinstance(value, dict):
            for key, each in value.items():
                look(f"{name}/{key}", each)

    for private in (False, True):  # lists of the layer's own come last
        for name, value in attributes.items():
            if name.startswith("_") == private:
                shown = "layers" if name == "_tracked" else name.lstrip("_")
                look(f"{shown}_" if private and shown in attributes else shown, value)
    return {**found, **{str(i): each for i, each in enumerate(left.values())}}
