"""What keras.ops does to its arguments: kinds of numbers are joined, where TensorFlow refuses them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._convert import convert_to_tensor as _convert
from ..._dtypes import as_dtype
from ..._math import cast as _cast
from ..._tensor import Tensor
from ..._variable import Variable
from .._base import floatx, name_of_dtype

_WHOLE = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def dtype_name(dtype: Any) -> str:
    return name_of_dtype(dtype)


def tensor(x: Any, dtype: Any = None) -> Any:
    """A tensor of a value; Python's floats are of the type floatx()."""
    if not isinstance(x, (Tensor, Variable)) and hasattr(x, "_as_tensor"):
        x = x._as_tensor()
    if isinstance(x, Variable):
        x = x._as_tensor()
    if not isinstance(x, Tensor):
        x = _convert(x, dtype)
    return x if dtype is None else cast(x, dtype)


def cast(x: Any, dtype: Any) -> Any:
    want = as_dtype(dtype_name(dtype))
    made = x if isinstance(x, Tensor) else tensor(x)
    return made if made.dtype is want else _cast(made, want)


def floating(x: Any) -> Any:
    """`x` as floats: whole numbers become floatx()."""
    made = tensor(x)
    return made if made.dtype.name in _FLOATS else cast(made, floatx())


def joined_type(a: str, b: str) -> str:
    """The type that values of two types have together."""
    if a == b:
        return a
    floats = [each for each in (a, b) if each in _FLOATS]
    if len(floats) == 1:
        return floats[0]
    if floats:
        return "float32" if {a, b} == {"float16", "bfloat16"} else max(floats, key=_FLOATS.index)
    if "bool" in (a, b):
        return b if a == "bool" else a
    return str(np.promote_types(a, b)) if {a, b} != {"uint64", "int64"} else "float32"


def pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of one type; a Python number takes the other's unless it is a float beside whole numbers."""
    plain_x, plain_y = isinstance(x, (bool, int, float)), isinstance(y, (bool, int, float))
    if plain_x and plain_y:
        return tensor(x), tensor(y)
    if plain_x:
        b, a = pair(y, x)
        return a, b
    a = tensor(x)
    if plain_y:
        name = a.dtype.name
        if isinstance(y, float) and name in _WHOLE:
            a, name = cast(a, floatx()), floatx()
        elif name == "bool" and not isinstance(y, bool):
            a, name = cast(a, "int32"), "int32"
        return a, _convert(y, as_dtype(name))
    b = tensor(y)
    want = joined_type(a.dtype.name, b.dtype.name)
    return cast(a, want), cast(b, want)


def together(values: Any) -> list[Any]:
    """Several tensors of one type."""
    made = [tensor(each) for each in values]
    want = made[0].dtype.name
    for each in made[1:]:
        want = joined_type(want, each.dtype.name)
    return [cast(each, want) for each in made]
