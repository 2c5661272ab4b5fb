"""NumPy's functions of tensors: np.mean(x), np.stack([x, y]). They compute with arrays that share the memory."""

from __future__ import annotations

from typing import Any

from ._core import Symbolic, Tensor, Variable
from .errors import InvalidArgument


def _as_array(value: Any, name: str) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_as_array(each, name) for each in value) if type(value) in (list, tuple) else value
    if isinstance(value, dict):
        return {key: _as_array(each, name) for key, each in value.items()}
    if isinstance(value, Symbolic):
        raise TypeError(
            f"[map] NumPy's {name} cannot compute with components while the function is traced; use functions of pm, "
            "or map(f, python=True)"
        )
    if not isinstance(value, (Tensor, Variable)):
        return value
    if isinstance(value, Tensor) and value.is_symbolic:
        raise InvalidArgument(
            f"[function] NumPy's {name} cannot compute with tensors while the function is traced; use functions of "
            "pm, such as pm.mean"
        )
    return value.numpy()


def _array_function(self: Any, function: Any, types: Any, given: Any, named: Any) -> Any:
    name = getattr(function, "__name__", "function")
    return function(*_as_array(given, name), **_as_array(named, name))


for _kind in (Tensor, Variable, Symbolic):
    setattr(_kind, "__array_function__", _array_function)
