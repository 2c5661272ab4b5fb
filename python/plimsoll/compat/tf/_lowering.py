"""Ops that data programs have under another name than the function that @op wraps would use."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

import plimsoll as pm
from plimsoll import _core

from ._program import ensure_shape, record

NATIVE: dict[str, Callable[..., Any]] = {}


def _unary(name: str) -> Callable[..., Any]:
    def call(x: Any) -> Any:
        return record(name, [x])[0]

    return call


def _shape(input: Any, out_type: Any = "int32") -> Any:
    from ._dtypes import as_dtype

    return record("extents", [input], dtype=as_dtype(out_type).pm)[0]


def _equal(x: Any, y: Any) -> Any:
    """Strings; numbers go the usual way."""
    if not _texts(x) and not _texts(y):
        raise TypeError("numbers")
    return record("text_equal", [_encoded(x), _encoded(y)])[0]


def _encoded(value: Any) -> Any:
    return value if isinstance(value, _core.Symbolic) else np.asarray(value, dtype=object)


def _texts(value: Any) -> bool:
    if isinstance(value, _core.Symbolic):
        return bool(value.dtype == pm.bytes_)
    return isinstance(value, (str, bytes)) or (isinstance(value, np.ndarray) and value.dtype.kind in "OSU")


def _take(x: Any, parts: Any) -> Any:
    """One of several strings, and new dimensions; all else goes the usual way."""
    if not isinstance(x, _core.Symbolic):
        raise TypeError("not a value of the element")
    if x.dtype == pm.bytes_:
        if len(parts) != 1 or parts[0][0] != "at" or not isinstance(parts[0][1], int):
            raise TypeError("not one of several strings")
        return record("text_at", [x], index=parts[0][1])[0]
    kinds = [each[0] for each in parts]
    if "new" not in kinds or x.shape is None or "at" in kinds:
        raise TypeError("no new dimension")
    key = [slice(*each[1:]) if each[0] == "slice" else Ellipsis for each in parts if each[0] != "new"]
    result = x if all(each is Ellipsis for each in key) else x[tuple(key)]
    at = 0
    for kind in kinds:
        if kind == "new":
            result = record("expand_dims", [result], axis=at)[0]
        at += len(x.shape) - kinds.count("slice") if kind == "rest" else 1
    return result


def _pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0) -> Any:
    if not isinstance(paddings, (list, tuple)) or mode.upper() != "CONSTANT" or isinstance(constant_values, _core.Symbolic):
        raise TypeError("paddings are not known")
    before, after = [int(a) for a, _ in paddings], [int(b) for _, b in paddings]
    return record("pad", [tensor], before=before, after=after, value=float(constant_values))[0]


def _quotient(x: Any, y: Any) -> Any:
    """Integers divided and rounded down, exact below 2**53."""
    if not isinstance(x, _core.Symbolic) or x.dtype not in _WHOLE or not isinstance(y, int) or y == 0:
        raise TypeError("not an integer by a number")
    return pm.floor(x.to(pm.f64) / float(y)).to(x.dtype)


def _rest(x: Any, y: Any) -> Any:
    return x - _quotient(x, y) * y


def _reshape(tensor: Any, shape: Any) -> Any:
    """To a shape that is known, of a value whose own is not."""
    if not isinstance(tensor, _core.Symbolic) or isinstance(shape, _core.Symbolic):
        raise TypeError("the shape is not known")
    dims = _extents(shape)
    made = pm.reshape(tensor, dims)
    return ensure_shape(made, [None if each < 0 else each for each in dims]) if made.shape is None else made


def _ensured(x: Any, shape: Any) -> Any:
    from ._shape import TensorShape

    known = TensorShape(shape)
    return x if known.dims is None else ensure_shape(x, known.as_list())


_WHOLE = (pm.i64, pm.i32, pm.i16, pm.i8, pm.u16, pm.u8)


def _extents(shape: Any) -> list[int]:
    found = shape.numpy() if hasattr(shape, "numpy") else shape
    return [int(each) for each in found]


def _uniform(
    like: Any, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = "float32", seed: Any = None, name: Any = None
) -> Any:
    from ._dtypes import as_dtype

    want = as_dtype(dtype)
    high = (1 if want.is_floating else None) if maxval is None else maxval
    if high is None:
        raise ValueError("Must specify maxval for integer dtype")
    made = record(
        "draw_uniform", [], like, shape=_extents(shape), dtype=pm.f32 if want.is_floating else pm.i64, low=float(minval),
        high=float(high),
    )[0]
    return made if made.dtype == want.pm else made.to(want.pm)


def _normal(
    like: Any, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32", seed: Any = None, name: Any = None
) -> Any:
    from ._dtypes import as_dtype

    want = as_dtype(dtype)
    made = record("draw_normal", [], like, shape=_extents(shape), mean=float(mean), deviation=float(stddev))[0]
    return made if made.dtype == want.pm else made.to(want.pm)


def _host_uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = "float32", seed: Any = None, name: Any = None
) -> Any:
    from ._convert import convert_to_tensor
    from ._dtypes import as_dtype
    from ._random import host_generator

    want, source = as_dtype(dtype), host_generator()
    low, high = float(minval), 1.0 if maxval is None else float(maxval)
    if want.is_floating:
        return convert_to_tensor((low + (high - low) * source.random(_extents(shape))).astype(want.as_numpy_dtype))
    return convert_to_tensor(source.integers(int(low), int(high), _extents(shape)).astype(want.as_numpy_dtype))


def _host_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32", seed: Any = None, name: Any = None
) -> Any:
    from ._convert import convert_to_tensor
    from ._dtypes import as_dtype
    from ._random import host_generator

    made = host_generator().normal(float(mean), float(stddev), _extents(shape))
    return convert_to_tensor(np.asarray(made).astype(as_dtype(dtype).as_numpy_dtype))


HOST_DRAWS: dict[str, Callable[..., Any]] = {"uniform": _host_uniform, "normal": _host_normal}
DRAWS: dict[str, Callable[..., Any]] = {"uniform": _uniform, "normal": _normal}

for _name in (
    "tanh", "sigmoid", "square", "sin", "cos", "rsqrt", "reciprocal", "sign", "ceil", "relu", "softplus", "erf", "log1p",
):
    NATIVE[_name] = _unary(_name)
NATIVE["shape"] = _shape
NATIVE["equal"] = _equal
NATIVE["strided_slice"] = _take
NATIVE["floordiv"] = _quotient
NATIVE["floormod"] = _rest
NATIVE["pad"] = _pad
NATIVE["reshape"] = _reshape
NATIVE["ensure_shape"] = _ensured
