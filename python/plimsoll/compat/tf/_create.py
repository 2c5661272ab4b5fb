"""Tensors from nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _dtypes
from ._convert import tensor
from ._dispatch import ints, op, static_value
from ._dtypes import as_dtype
from ._errors import InvalidArgumentError, refuse
from ._operators import FLOATS, mismatch


def _filled(dims: Any, value: float, dtype: Any, who: str) -> Any:
    want = as_dtype(dtype)
    shape = ints(dims)
    if any(each < 0 for each in shape):
        raise InvalidArgumentError(None, None, f"Dimension must be >= 0, got {min(shape)} [Op:{who}]")
    if want is _dtypes.string:
        made = np.empty(shape, dtype=object)
        made[...] = b""
        return made
    if want.pm is None:
        return np.full(shape, value, dtype=want.as_numpy_dtype)
    return pm.full(shape, value, dtype=want.pm)


@op(name="zeros")
def zeros(shape: Any, dtype: Any = _dtypes.float32, layout: Any = None) -> Any:
    refuse("tf.zeros", layout=layout)
    return _filled(shape, 0, dtype, "Fill")


@op(name="ones")
def ones(shape: Any, dtype: Any = _dtypes.float32, layout: Any = None) -> Any:
    refuse("tf.ones", layout=layout)
    return _filled(shape, 1, dtype, "Fill")


def _fill_host(dims: Any, value: Any) -> Any:
    made = np.empty(ints(dims), dtype=np.asarray(value).dtype)
    made[...] = value
    return made


@op(name="fill", host=_fill_host)
def fill(dims: Any, value: Any) -> Any:
    found = tensor(value)
    if isinstance(found, np.ndarray):
        return _fill_host(dims, found)
    if found.ndim:
        raise InvalidArgumentError(None, None, f"value must be a scalar, got shape {list(found.shape)}")
    return pm.broadcast_to(found, ints(dims))


@op(name="constant")
def fill_to(value: Any, shape: Any) -> Any:
    """A constant under a shape: one element is repeated."""
    dims = ints(shape)
    size = math.prod(value.shape)
    if size == math.prod(dims):
        return value.reshape(dims) if isinstance(value, np.ndarray) else pm.reshape(value, dims)
    if size != 1:
        raise TypeError(
            f"Eager execution of tf.constant with unsupported shape. Tensor has {size} elements, but "
            f"got `shape` {tuple(dims)} with {math.prod(dims)} elements)."
        )
    if isinstance(value, np.ndarray):
        return np.broadcast_to(value.reshape(()), dims).copy()
    return pm.broadcast_to(pm.reshape(value, []), dims)


def _zeros_host(input: Any, dtype: Any = None, layout: Any = None) -> Any:
    return _filled(input.shape, 0, dtype or input.dtype, "ZerosLike")


@op(name="zeros_like", host=_zeros_host)
def zeros_like(input: Any, dtype: Any = None, layout: Any = None) -> Any:
    x = tensor(input)
    if isinstance(x, np.ndarray):
        return _zeros_host(x, dtype)
    if isinstance(x, _core.Symbolic):
        return (x if dtype is None else pm.cast(x, as_dtype(dtype).pm)) * 0
    return pm.zeros_like(x) if dtype is None else pm.zeros_like(pm.cast(x, as_dtype(dtype).pm or x.dtype))


@op(name="ones_like", host=lambda input, dtype=None, layout=None: _filled(input.shape, 1, dtype or input.dtype, "x"))
def ones_like(input: Any, dtype: Any = None, layout: Any = None) -> Any:
    x = tensor(input)
    if isinstance(x, _core.Symbolic):
        return (x if dtype is None else pm.cast(x, as_dtype(dtype).pm)) * 0 + 1
    return pm.ones_like(x) if dtype is None else pm.ones_like(pm.cast(x, as_dtype(dtype).pm or x.dtype))


@op(name="range")
def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None) -> Any:
    if limit is None:
        start, limit = 0, start
    given = [start, limit, delta]
    if dtype is None:
        found = [tensor(each) for each in given]
        order = [_dtypes.int32, _dtypes.int64, _dtypes.float32, _dtypes.float64]
        kinds = [as_dtype(each.dtype) for each in found]
        want = max((k for k in kinds if k in order), key=order.index, default=_dtypes.int32)
    else:
        want = as_dtype(dtype)
    numbers = [static_value(each) for each in given]
    if numbers[2] == 0:
        raise InvalidArgumentError(None, None, "Requires delta != 0: 0")
    if (numbers[1] - numbers[0]) * numbers[2] < 0:
        raise InvalidArgumentError(
            None, None, f"Requires start <= limit when delta > 0: {numbers[0]}/{numbers[1]}"
        )
    if want.is_integer:
        made = np.arange(*(int(each) for each in numbers), dtype=np.int64)
    else:
        kind = np.float32 if want is _dtypes.float32 else np.float64
        first, last, by = (kind(each) for each in numbers)
        count = max(0, math.ceil((float(last) - float(first)) / float(by)))
        steps: Any = np.arange(count, dtype=kind)
        made = (first + steps * by).astype(kind)
    return tensor(made, want)


@op(name="linspace")
def linspace(start: Any, stop: Any, num: Any, axis: Any = 0) -> Any:
    first, last = tensor(start), tensor(stop)
    if first.dtype not in FLOATS:
        first, last = pm.cast(first, pm.f64), pm.cast(last, pm.f64)
    if first.dtype != last.dtype:
        raise mismatch("LinSpace", first, last)
    count = int(static_value(num))
    if count < 1:
        raise InvalidArgumentError(None, None, f"Requires num > 0: {count}")
    rank = len(first.shape)
    at = int(static_value(axis)) % (rank + 1)
    shape = [1] * (rank + 1)
    shape[at] = count
    share = pm.tensor(np.linspace(0.0, 1.0, count)).to(first.dtype)
    share = pm.reshape(share, shape)
    low, high = (pm.reshape(x, [*x.shape[:at], 1, *x.shape[at:]]) for x in (first, last))
    return pm.where(pm.broadcast_to(share == 1, list(np.broadcast_shapes(tuple(shape), tuple(low.shape)))),
                    high, low + (high - low) * share) if count > 1 else low + (high - low) * share


@op(name="eye")
def eye(num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = _dtypes.float32) -> Any:
    rows = int(static_value(num_rows))
    columns = rows if num_columns is None else int(static_value(num_columns))
    made = pm.tensor(np.eye(rows, columns, dtype=np.float32)).to(as_dtype(dtype).pm)
    if batch_shape is None:
        return made
    return pm.broadcast_to(made, [*ints(batch_shape), rows, columns])
