"""gather, scatter and their like."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _dtypes
from ._convert import numpy_of, tensor
from ._dispatch import ints, op, static_value
from ._errors import InvalidArgumentError, unsupported
from ._math import _axis
from ._operators import FLOATS, mismatch
from ._state import state
from ._variable import looked_up


def _indices(value: Any) -> Any:
    at = tensor(value)
    if isinstance(at, np.ndarray) or at.dtype in FLOATS or at.dtype == pm.bool_:
        raise InvalidArgumentError(None, None, "indices must be integers")
    return at if at.dtype in (pm.i32, pm.i64) else pm.cast(at, pm.i32)


def _gather_host(params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: Any = 0) -> Any:
    return np.take(params, numpy_of(indices), 0 if axis is None else int(static_value(axis)))


def gather(
    params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: Any = 0,
    name: str | None = None,
) -> Any:
    """Slices of `params` at these places along an axis."""
    found = _gather(params, indices, validate_indices, axis, batch_dims, name=name)
    whole = not state.inside and isinstance(axis, (int, type(None))) and isinstance(batch_dims, int)
    return looked_up(params, indices, found) if whole and not axis and not batch_dims else found


@op(name="gather", host=_gather_host)
def _gather(params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: Any = 0) -> Any:
    x, at = tensor(params), _indices(indices)
    if isinstance(x, np.ndarray):
        return _gather_host(x, at, axis=axis)
    if isinstance(at, _core.Symbolic) and not isinstance(x, _core.Symbolic):
        return _from_table(x, at)
    batches = int(static_value(batch_dims))
    batches = batches % len(at.shape) if batches < 0 else batches
    along = _axis(batches if axis is None else axis, len(x.shape))
    if batches == 0:
        return pm.gather(x, at, axis=along)
    # Rows of all batches under one index.
    lead = list(x.shape[:batches])
    order = [*range(batches), along, *(i for i in range(batches, x.ndim) if i != along)]
    moved = pm.transpose(x, order)
    extent, rest = moved.shape[batches], list(moved.shape[batches + 1:])
    flat = pm.reshape(moved, [math.prod(lead) * extent, *rest])
    offsets = pm.tensor(np.arange(math.prod(lead)) * extent).to(at.dtype)
    inner = list(at.shape[batches:])
    places = at + pm.reshape(offsets, [*lead, *([1] * len(inner))])
    found = pm.gather(flat, places, axis=0)
    # found: lead + inner + rest; the axis goes back to its place.
    before = along - batches
    count = len(lead) + len(inner)
    back = [*range(len(lead)), *range(count, count + before), *range(len(lead), count),
            *range(count + before, len(found.shape))]
    return pm.transpose(found, back)


def _from_table(table: Any, at: Any) -> Any:
    """Of a table that is known, in a function of Dataset.map: a product with a one-hot row."""
    if table.ndim not in (1, 2):
        unsupported("tf.gather of a constant with more than two dimensions in Dataset.map")
    hot = pm.one_hot(at, table.shape[0])
    wide = table.to(pm.f32)
    found = (hot * wide).sum(axis=-1) if table.ndim == 1 else unsupported(
        "tf.gather of a constant matrix in Dataset.map", way="gather after batching"
    )
    return found.to(table.dtype)


def _flat_places(at: Any, dims: list[int]) -> Any:
    """Indices [..., k] into dims as indices into their product."""
    strides = [math.prod(dims[i + 1:]) for i in range(len(dims))]
    by = pm.tensor(np.array(strides, dtype=np.int64)).to(at.dtype)
    return pm.cast(pm.sum(at * by, axis=-1), at.dtype)


def _check_places(at: Any, dims: list[int], who: str) -> None:
    if isinstance(at, pm.Tensor) and not at.is_symbolic and at.size:
        values = numpy_of(at)
        if (values < 0).any() or (values >= np.array(dims)).any():
            raise InvalidArgumentError(None, None, f"indices do not index into the shape {dims} [Op:{who}]")


def _gather_nd_host(params: Any, indices: Any, batch_dims: Any = 0) -> Any:
    at = numpy_of(indices)
    return params[tuple(np.moveaxis(at, -1, 0))]


@op(name="gather_nd", host=_gather_nd_host)
def gather_nd(params: Any, indices: Any, batch_dims: Any = 0) -> Any:
    x, at = tensor(params), _indices(indices)
    batches = int(static_value(batch_dims))
    if batches:
        lead = list(x.shape[:batches])
        grid = np.indices(lead).reshape(len(lead), *lead, *([1] * (at.ndim - batches - 1)))
        parts = [
            pm.broadcast_to(pm.reshape(pm.tensor(each.astype(np.int64)).to(at.dtype), [*each.shape, 1]),
                            [*at.shape[:-1], 1])
            for each in grid
        ]
        at = pm.concat([*parts, at], axis=-1)
    depth = at.shape[-1]
    if depth > len(x.shape):
        raise InvalidArgumentError(
            None, None, f"index innermost dimension length must be <= params rank; saw: {depth} vs. {x.ndim}"
        )
    dims, rest = list(x.shape[:depth]), list(x.shape[depth:])
    _check_places(at, dims, "GatherNd")
    if depth == 0:
        return pm.broadcast_to(x, [*at.shape[:-1], *x.shape])
    flat = pm.reshape(x, [math.prod(dims), *rest])
    return pm.gather(flat, _flat_places(at, dims), axis=0)


def _scattered(indices: Any, updates: Any, shape: list[int], who: str) -> Any:
    at, given = _indices(indices), updates
    depth = at.shape[-1]
    dims, rest = shape[:depth], shape[depth:]
    if list(given.shape) != [*at.shape[:-1], *rest]:
        raise InvalidArgumentError(
            None, None, f"Outer dimensions of indices and updates must match: indices {list(at.shape)}, "
            f"updates {list(given.shape)}, shape {shape} [Op:{who}]",
        )
    _check_places(at, dims, who)
    count = math.prod(at.shape[:-1])
    rows = pm.reshape(given, [count, *rest])
    places = pm.reshape(_flat_places(at, dims), [count])
    if count == 0:
        return pm.zeros(shape, dtype=given.dtype)
    flat = pm.scatter_add(_summable(rows), places, [math.prod(dims), *rest])
    return pm.cast(pm.reshape(flat, shape), given.dtype)


def _summable(x: Any) -> Any:
    return x


@op(name="scatter_nd")
def scatter_nd(indices: Any, updates: Any, shape: Any) -> Any:
    return _scattered(indices, tensor(updates), ints(shape), "ScatterNd")


def _given(x: Any, updates: Any, who: str) -> Any:
    made = tensor(updates, like=x)
    if made.dtype != x.dtype:
        raise mismatch(who, x, made)
    return made


@op(name="tensor_scatter_nd_add")
def tensor_scatter_nd_add(tensor: Any, indices: Any, updates: Any) -> Any:
    x = _tensor(tensor)
    return x + _scattered(indices, _given(x, updates, "TensorScatterAdd"), list(x.shape), "TensorScatterAdd")


@op(name="tensor_scatter_nd_sub")
def tensor_scatter_nd_sub(tensor: Any, indices: Any, updates: Any) -> Any:
    x = _tensor(tensor)
    return x - _scattered(indices, _given(x, updates, "TensorScatterSub"), list(x.shape), "TensorScatterSub")


def _tensor(value: Any) -> Any:
    return tensor(value)


@op(name="tensor_scatter_nd_update")
def tensor_scatter_nd_update(tensor: Any, indices: Any, updates: Any) -> Any:
    x = _tensor(tensor)
    return replaced(x, _indices(indices), _given(x, updates, "TensorScatterUpdate"))


def replaced(x: Any, at: Any, given: Any) -> Any:
    """x with `given` at indices `at` [..., k]; of several for one place the last."""
    depth, rest = at.shape[-1], list(x.shape[at.shape[-1]:])
    dims = list(x.shape[:depth])
    if list(given.shape) != [*at.shape[:-1], *rest]:
        if not len(given.shape):
            given = pm.broadcast_to(given, [*at.shape[:-1], *rest])
        else:
            raise InvalidArgumentError(
                None, None, f"Outer dimensions of indices and update must match: indices {list(at.shape)}, "
                f"updates {list(given.shape)} [Op:TensorScatterUpdate]",
            )
    _check_places(at, dims, "TensorScatterUpdate")
    count = math.prod(at.shape[:-1])
    if count == 0:
        return x
    places = pm.reshape(_flat_places(at, dims), [count])
    total = math.prod(dims)
    numbers = pm.tensor(np.arange(1, count + 1))
    # The last one that is written to each place, from 1 on; 0 for none.
    order = pm.max(
        pm.where(pm.reshape(pm.tensor(np.arange(total)).to(places.dtype), [total, 1]) == pm.reshape(places, [1, count]),
                 pm.reshape(numbers, [1, count]), 0), axis=1)
    rows = pm.reshape(given, [count, *rest])
    chosen = pm.gather(rows, pm.maximum(order - 1, 0), axis=0)
    written = pm.reshape(order > 0, [total, *([1] * len(rest))])
    return pm.reshape(pm.where(written, chosen, pm.reshape(x, [total, *rest])), list(x.shape))


def _extremes(name: str, join: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def call(tensor: Any, indices: Any, updates: Any) -> Any:
        x = _tensor(tensor)
        at, given = _indices(indices), _given(x, updates, name)
        for i in range(math.prod(at.shape[:-1])):
            one = pm.reshape(at, [-1, at.shape[-1]])[i:i + 1]
            row = pm.reshape(given, [math.prod(at.shape[:-1]), *x.shape[at.shape[-1]:]])[i:i + 1]
            old = gather_nd(x, one)
            x = replaced(x, one, join(old, row))
        return x

    call.__name__ = name
    return op(name=name)(call)


tensor_scatter_nd_max = _extremes("tensor_scatter_nd_max", lambda a, b: pm.maximum(a, b))
tensor_scatter_nd_min = _extremes("tensor_scatter_nd_min", lambda a, b: pm.minimum(a, b))


@op(name="math.segment_sum")
def segment_sum(data: Any, segment_ids: Any) -> Any:
    ids = numpy_of(segment_ids)
    if ids.size and (np.diff(ids) < 0).any():
        raise InvalidArgumentError(None, None, "segment ids are not increasing")
    return unsorted_segment_sum(data, segment_ids, int(ids.max(initial=-1)) + 1)


@op(name="math.unsorted_segment_sum")
def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    x, ids, count = tensor(data), _indices(segment_ids), int(static_value(num_segments))
    rest = list(x.shape[len(ids.shape):])
    rows = pm.reshape(x, [math.prod(ids.shape), *rest])
    flat = pm.reshape(ids, [-1])
    # Ids below 0 belong to nobody: one more row takes them.
    places = pm.where(flat < 0, count, flat)
    return pm.scatter_add(rows, places, [count + 1, *rest])[:count]


def _segment_means(data: Any, segment_ids: Any, count: int) -> Any:
    x, ids = tensor(data), _indices(segment_ids)
    ones = pm.ones(list(ids.shape), dtype=x.dtype)
    total = unsorted_segment_sum(x, ids, count)
    number = unsorted_segment_sum(ones, ids, count)
    return total / pm.maximum(pm.reshape(number, [count, *([1] * (total.ndim - 1))]), 1)


@op(name="math.segment_mean")
def segment_mean(data: Any, segment_ids: Any) -> Any:
    return _segment_means(data, segment_ids, int(numpy_of(segment_ids).max(initial=-1)) + 1)


@op(name="math.unsorted_segment_mean")
def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    return _segment_means(data, segment_ids, int(static_value(num_segments)))


def _segment_extremes(data: Any, segment_ids: Any, count: int, largest: bool) -> Any:
    x, ids = tensor(data), _indices(segment_ids)
    known = _dtypes.BY_PM[x.dtype]
    worst = known.min if largest else known.max
    rows = pm.reshape(x, [1, math.prod(ids.shape), *x.shape[len(ids.shape):]])
    own = pm.reshape(pm.tensor(np.arange(count)).to(ids.dtype), [count, 1]) == pm.reshape(ids, [1, -1])
    own = pm.reshape(own, [count, math.prod(ids.shape), *([1] * (rows.ndim - 2))])
    shown = pm.where(own, rows, float(worst) if x.dtype in FLOATS else int(worst))
    return pm.max(shown, axis=1) if largest else pm.min(shown, axis=1)


@op(name="math.unsorted_segment_max")
def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    return _segment_extremes(data, segment_ids, int(static_value(num_segments)), True)


@op(name="math.unsorted_segment_min")
def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    return _segment_extremes(data, segment_ids, int(static_value(num_segments)), False)


@op(name="math.segment_max")
def segment_max(data: Any, segment_ids: Any) -> Any:
    return _filled_segments(data, segment_ids, True)


@op(name="math.segment_min")
def segment_min(data: Any, segment_ids: Any) -> Any:
    return _filled_segments(data, segment_ids, False)


def _filled_segments(data: Any, segment_ids: Any, largest: bool) -> Any:
    """Extremes of segments; 0 for those that nothing belongs to."""
    ids = numpy_of(segment_ids)
    count = int(ids.max(initial=-1)) + 1
    found = _segment_extremes(data, segment_ids, count, largest)
    empty = np.isin(np.arange(count), ids, invert=True).reshape([count, *([1] * (found.ndim - 1))])
    return pm.where(pm.tensor(empty), 0, found)


@op(name="dynamic_partition")
def dynamic_partition(data: Any, partitions: Any, num_partitions: int) -> Any:
    x, where = tensor(data), numpy_of(partitions)
    flat = pm.reshape(x, [where.size, *x.shape[where.ndim:]])
    found = []
    for i in range(num_partitions):
        at = np.flatnonzero(where == i).astype(np.int64)
        found.append(
            pm.gather(flat, pm.tensor(at), axis=0) if len(at) else pm.zeros([0, *flat.shape[1:]], dtype=x.dtype)
        )
    return found


@op(name="dynamic_stitch")
def dynamic_stitch(indices: Any, data: Any) -> Any:
    places = [numpy_of(each) for each in indices]
    parts = [tensor(each) for each in data]
    count = int(max(each.max(initial=-1) for each in places)) + 1
    rest = list(parts[0].shape[places[0].ndim:])
    rows = pm.concat([pm.reshape(each, [-1, *rest]) for each in parts], axis=0)
    last = np.zeros(count, dtype=np.int64)
    for number, each in enumerate(np.concatenate([each.reshape(-1) for each in places])):
        last[each] = number
    return pm.gather(rows, pm.tensor(last), axis=0)


