"""x[...]: integers, slices with steps of either sign, ..., tf.newaxis, tensors and masks."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm
from plimsoll import _core

from ._convert import tensor
from ._dispatch import ints, op, static_value
from ._errors import InvalidArgumentError


def _parts(key: Any) -> list[Any]:
    """Keys as lists that the dispatcher looks into: ["slice", a, b, c], ["at", i] and so on."""
    found: list[Any] = []
    for each in key if isinstance(key, tuple) else (key,):
        if isinstance(each, slice):
            found.append(["slice", each.start, each.stop, each.step])
        elif each is None:
            found.append(["new"])
        elif each is Ellipsis:
            found.append(["rest"])
        else:
            found.append(["at", each])
    return found


def getitem(x: Any, key: Any) -> Any:
    """x[key] of a tensor or variable."""
    if getattr(getattr(key, "dtype", None), "name", "") == "bool" and getattr(key, "shape", ()) != ():
        from ._select import boolean_mask

        return boolean_mask(x, key)
    return _take(x, _parts(key), name="strided_slice")


def _number(value: Any) -> int | None:
    found = static_value(value)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int):
        raise TypeError(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 "
            f"tensors are valid indices, got {value!r}"
        )
    return found


def _key(parts: list[Any]) -> tuple[Any, ...]:
    made: list[Any] = []
    for kind, *values in parts:
        if kind == "slice":
            made.append(slice(*(_number(each) for each in values)))
        elif kind == "new":
            made.append(None)
        elif kind == "rest":
            made.append(Ellipsis)
        else:
            made.append(values[0])
    return tuple(made)


def _take_host(x: Any, parts: Any) -> Any:
    key = tuple(_number(each) if not isinstance(each, (slice, type(None), type(...))) else each for each in _key(parts))
    found = x[key]
    return np.asarray(found, dtype=x.dtype) if not isinstance(found, np.ndarray) else found


@op(name="strided_slice", host=_take_host)
def _take(x: Any, parts: Any) -> Any:
    value, key = tensor(x), list(_key(parts))
    if isinstance(value, _core.Symbolic):
        return value[tuple(_number(e) if not isinstance(e, (slice, type(None), type(...))) else e for e in key)]
    used = sum(each is not None and each is not Ellipsis for each in key)
    if used > value.ndim:
        raise InvalidArgumentError(
            None, None, f"Index out of range using input dim {value.ndim}; input has only {value.ndim} dims"
        )
    result, dim = value, 0
    for each in key:
        if each is None:
            result, dim = pm.reshape(result, [*result.shape[:dim], 1, *result.shape[dim:]]), dim + 1
        elif each is Ellipsis:
            dim += value.ndim - used
        elif isinstance(each, slice):
            result, dim = _cut(result, dim, each), dim + 1
        else:
            result = _pick(result, dim, each)
    return result


def _cut(x: Any, dim: int, part: slice) -> Any:
    if part.step == 0:
        raise ValueError("strides[0] must be non-zero")
    if part.step is None or part.step > 0:
        return x[(slice(None),) * dim + (part,)]
    chosen = range(x.shape[dim])[part]
    if not len(chosen):
        return x[(slice(None),) * dim + (slice(0, 0),)]
    if chosen.step == -1 and len(chosen) == x.shape[dim]:
        return pm.flip(x, dim)
    return pm.gather(x, pm.tensor(np.array(chosen, dtype=np.int64)), axis=dim)


def _pick(x: Any, dim: int, index: Any) -> Any:
    if isinstance(index, pm.Tensor) and index.is_symbolic:
        if len(index.shape):
            raise TypeError("only scalar tensors are valid indices; use tf.gather")
        at = pm.where(index < 0, index + x.shape[dim], index)
        return pm.gather(x, at, axis=dim)
    number = _number(index)
    assert number is not None
    if not -x.shape[dim] <= number < x.shape[dim]:
        raise InvalidArgumentError(
            None, None, f"slice index {number} of dimension {dim} out of bounds. [Op:StridedSlice]"
        )
    return x[(slice(None),) * dim + (number,)]


@op(name="slice")
def slice_(input_: Any, begin: Any, size: Any) -> Any:
    x = tensor(input_)
    first, count = ints(begin), ints(size)
    if len(first) != len(x.shape):
        raise InvalidArgumentError(
            None, None, f"Expected begin and size arguments to be 1-D tensors of size {len(x.shape)}, but got "
            f"shapes [{len(first)}] and [{len(count)}] instead.",
        )
    key = []
    for i, (a, n) in enumerate(zip(first, count)):
        extent = x.shape[i]
        if isinstance(extent, int):
            end = extent if n == -1 else a + n
            if a < 0 or a > extent or end > extent or end < a:
                raise InvalidArgumentError(
                    None, None, f"Expected begin[{i}] in [0, {extent}], and size[{i}] to fit, but got {a} and {n}"
                )
            key.append(slice(a, end))
        else:
            key.append(slice(a, None if n == -1 else a + n))
    return x[tuple(key)] if key else x


@op(name="strided_slice")
def strided_slice(
    input_: Any, begin: Any, end: Any, strides: Any = None, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, var: Any = None,
) -> Any:
    first, last = ints(begin), ints(end)
    by = ints(strides) if strides is not None else [1] * len(first)
    parts: list[Any] = []
    for i, (a, b, s) in enumerate(zip(first, last, by)):
        bit = 1 << i
        if ellipsis_mask & bit:
            parts.append(["rest"])
        elif new_axis_mask & bit:
            parts.append(["new"])
        elif shrink_axis_mask & bit:
            parts.append(["at", a])
        else:
            parts.append(["slice", None if begin_mask & bit else a, None if end_mask & bit else b, s])
    return _take(input_, parts)
