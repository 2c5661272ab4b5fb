"""NumPy's functions of tensors: np.mean(x), np.exp(x). They compute with arrays that share the memory."""

from __future__ import annotations

from typing import Any

from ._core import Symbolic, Tensor, Variable
from ._mistakes import shown
from ._traceback import boundary
from .errors import InvalidArgument

# What NumPy calls the operators, and the method of the right side that answers where the left is an array or one of
# NumPy's numbers: np.float32(2) * x is a tensor, as x * np.float32(2) is.
_REFLECTED = {
    "add": "__radd__", "subtract": "__rsub__", "multiply": "__rmul__", "divide": "__rtruediv__",
    "true_divide": "__rtruediv__", "floor_divide": "__rfloordiv__", "remainder": "__rmod__", "power": "__rpow__",
    "matmul": "__rmatmul__", "equal": "__eq__", "not_equal": "__ne__", "less": "__gt__", "less_equal": "__ge__",
    "greater": "__lt__", "greater_equal": "__le__", "bitwise_and": "__and__", "bitwise_or": "__or__",
}
_OURS = {
    "absolute": "abs", "concatenate": "concat", "divide": "div", "multiply": "mul", "subtract": "sub", "power": "pow",
    "var": "variance",
}


def _like(name: str) -> str:
    """Which functions to use instead of NumPy's."""
    from . import ops

    ours = _OURS.get(name, name)
    return f"pm.{ours}" if ours in ops.__all__ else "functions of pm, such as pm.sqrt"


def _as_array(value: Any, name: str) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_as_array(each, name) for each in value) if type(value) in (list, tuple) else value
    if isinstance(value, dict):
        return {key: _as_array(each, name) for key, each in value.items()}
    if isinstance(value, Symbolic):
        raise TypeError(
            f"[map] NumPy's {name} cannot compute with components while the function is traced; use {_like(name)}, "
            "or map(f, python=True)"
        )
    if not isinstance(value, (Tensor, Variable)):
        return value
    if isinstance(value, Tensor) and value.is_symbolic:
        raise InvalidArgument(
            f"[function] NumPy's {name} cannot compute with tensors while the function is traced; use {_like(name)}"
        )
    return value.numpy()


@boundary
def _array_function(self: Any, function: Any, types: Any, given: Any, named: Any) -> Any:
    name = getattr(function, "__name__", "function")
    return function(*_as_array(given, name), **_as_array(named, name))


@boundary
def _array_ufunc(self: Any, function: Any, method: str, *given: Any, **named: Any) -> Any:
    name = function.__name__
    if method == "__call__" and not named and name in _REFLECTED and not isinstance(given[0], (Tensor, Variable, Symbolic)):
        answer = getattr(self, _REFLECTED[name], None)
        found = NotImplemented if answer is None else answer(given[0])
        if found is NotImplemented:
            raise TypeError(f"[operator] one side is {shown(given[0])}; make it a tensor first: pm.tensor(array)")
        return found
    return getattr(function, method)(*_as_array(given, name), **_as_array(named, name))


for _kind in (Tensor, Variable, Symbolic):
    setattr(_kind, "__array_function__", _array_function)
    setattr(_kind, "__array_ufunc__", _array_ufunc)
