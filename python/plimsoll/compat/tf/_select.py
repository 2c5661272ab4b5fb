"""Choosing and ordering elements: masks, one-hot rows, unique values, sorting."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import plimsoll as pm

from . import _dtypes
from ._convert import numpy_of, tensor
from ._dispatch import op, static_value
from ._dtypes import as_dtype
from ._errors import InvalidArgumentError
from ._math import _axis
from ._operators import FLOATS, RAW


@op(name="sequence_mask")
def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = _dtypes.bool_) -> Any:
    x = tensor(lengths)
    most = int(static_value(maxlen)) if maxlen is not None else int(numpy_of(x).max(initial=0))
    row = pm.tensor(np.arange(most)).to(x.dtype)
    mask = row < pm.reshape(x, [*x.shape, 1])
    return mask if as_dtype(dtype) is _dtypes.bool_ else pm.cast(mask, as_dtype(dtype).pm)


@op(name="one_hot")
def one_hot(
    indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: Any = None, dtype: Any = None
) -> Any:
    x, count = tensor(indices), int(static_value(depth))
    if x.dtype in FLOATS:
        raise InvalidArgumentError(None, None, "indices of tf.one_hot must be integers")
    given = next((each for each in (on_value, off_value) if each is not None), None)
    want = as_dtype(dtype) if dtype is not None else (
        as_dtype(tensor(given).dtype) if given is not None else _dtypes.float32
    )
    if want.is_bool and given is None:
        raise TypeError("tf.one_hot of bool needs on_value and off_value")
    if x.dtype not in (pm.i32, pm.i64):
        x = pm.cast(x, pm.i32)
    if on_value is None and off_value is None and want.is_floating:
        made = pm.one_hot(x, count, want.pm)
    else:
        hot = pm.one_hot(x, count, pm.f32) > 0
        made = pm.where(
            hot, tensor(1 if on_value is None else on_value, want) if not want.is_bool or on_value is not None
            else tensor(True), tensor(0 if off_value is None else off_value, want)
            if not want.is_bool or off_value is not None else tensor(False),
        )
    rank_after = len(x.shape) + 1
    at = -1 if axis is None else int(static_value(axis))
    if at in (-1, rank_after - 1):
        return made
    order = list(builtins.range(rank_after - 1))
    order.insert(at, rank_after - 1)
    return pm.transpose(made, order)


@op(name="boolean_mask", host=lambda tensor, mask, axis=None: _mask(tensor, mask, axis))
def boolean_mask(tensor: Any, mask: Any, axis: Any = None) -> Any:
    return _mask(tensor, mask, axis)


def _mask(x: Any, mask: Any, axis: Any) -> Any:
    value, chosen = tensor(x), numpy_of(mask)
    at = 0 if axis is None else int(static_value(axis))
    if chosen.ndim == 0:
        raise ValueError("mask cannot be scalar.")
    if tuple(value.shape[at:at + chosen.ndim]) != chosen.shape:
        raise ValueError(f"Shapes {tuple(value.shape[at:at + chosen.ndim])} and {chosen.shape} are incompatible")
    indices = np.flatnonzero(chosen)
    flat = [*value.shape[:at], chosen.size, *value.shape[at + chosen.ndim:]]
    if isinstance(value, np.ndarray):
        return np.take(value.reshape(flat), indices, at)
    if not len(indices):
        return pm.zeros([*flat[:at], 0, *flat[at + 1:]], dtype=value.dtype)
    return pm.gather(pm.reshape(value, flat), pm.tensor(indices.astype(np.int64)), axis=at)


def _first_places(values: Any) -> tuple[Any, Any, Any]:
    _, first, inverse, counts = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return values[np.sort(first)], places[inverse.reshape(-1)], counts[order]


def _uniques(x: Any, out_idx: Any, counted: bool) -> Any:
    from ._results import Unique, UniqueWithCounts

    values = numpy_of(x)
    if values.ndim != 1:
        raise InvalidArgumentError(None, None, "unique expects a 1D vector.")
    found, places, counts = _first_places(values)
    kind = as_dtype(out_idx).as_numpy_dtype
    made = tensor(np.asarray(found, order="C"), as_dtype(values.dtype))
    where_ = pm.tensor(places.astype(kind))
    if counted:
        return UniqueWithCounts(made, where_, pm.tensor(counts.astype(kind)))
    return Unique(made, where_)


@op(name="unique")
def unique(x: Any, out_idx: Any = _dtypes.int32) -> Any:
    return _uniques(x, out_idx, False)


@op(name="unique_with_counts")
def unique_with_counts(x: Any, out_idx: Any = _dtypes.int32) -> Any:
    return _uniques(x, out_idx, True)


def _ranked(values: Any, axis: Any, direction: str) -> tuple[Any, Any]:
    """The sorted values and their places."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be one of 'ASCENDING' or 'DESCENDING'. Received: {direction}")
    x = tensor(values)
    return pm.sort(x, _axis(axis, len(x.shape)), descending=direction == "DESCENDING")


@op(name="sort", host=lambda values, axis=-1, direction="ASCENDING": np.sort(values, axis) if direction == "ASCENDING" else np.flip(np.sort(values, axis), axis))
def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING") -> Any:
    return _ranked(values, axis, direction)[0]


@op(name="argsort")
def argsort(values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False) -> Any:
    return pm.cast(_ranked(values, axis, direction)[1], pm.i32)


@op(name="searchsorted")
def searchsorted(sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = _dtypes.int32) -> Any:
    row, wanted = tensor(sorted_sequence), tensor(values)
    wanted = tensor(values, like=row) if not isinstance(values, RAW) else wanted
    a = pm.reshape(row, [*row.shape[:-1], 1, row.shape[-1]])
    b = pm.reshape(wanted, [*wanted.shape, 1])
    before = a < b if side == "left" else a <= b
    return pm.cast(pm.sum(pm.cast(before, pm.i64), axis=-1), as_dtype(out_type).pm)


def bitcast(input: Any, type: Any, name: str | None = None) -> Any:
    """The same bits under another dtype; of values that are known."""
    return _bitcast(input, type)


@op(name="bitcast")
def _bitcast(input: Any, type: Any) -> Any:
    values, want = np.asarray(numpy_of(input), order="C"), np.dtype(as_dtype(type).as_numpy_dtype)
    if want.itemsize == values.dtype.itemsize:
        return tensor(values.view(want))
    if want.itemsize < values.dtype.itemsize:
        made = values.reshape(*values.shape, 1).view(want)
        return tensor(made)
    return tensor(values.view(want).reshape(values.shape[:-1]))
