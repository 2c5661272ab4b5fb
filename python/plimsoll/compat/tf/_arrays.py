"""Tensors from nothing, and ops that move elements."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _dtypes
from ._convert import numpy_of, tensor
from ._dispatch import ints, op, static_value
from ._dtypes import as_dtype
from ._errors import InvalidArgumentError, refuse
from ._math import _axis
from ._operators import FLOATS, RAW, mismatch
from ._shape import TensorShape


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
        made = (first + np.arange(count, dtype=kind) * by).astype(kind)
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
    return pm.where(pm.broadcast_to(share == 1, [*_joined(shape, list(low.shape))]),
                    high, low + (high - low) * share) if count > 1 else low + (high - low) * share


def _joined(a: list[int], b: list[int]) -> list[int]:
    return list(np.broadcast_shapes(tuple(a), tuple(b)))


@op(name="eye")
def eye(num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = _dtypes.float32) -> Any:
    rows = int(static_value(num_rows))
    columns = rows if num_columns is None else int(static_value(num_columns))
    made = pm.tensor(np.eye(rows, columns, dtype=np.float32)).to(as_dtype(dtype).pm)
    if batch_shape is None:
        return made
    return pm.broadcast_to(made, [*ints(batch_shape), rows, columns])


def _dims(x: Any) -> list[int]:
    if isinstance(x, _core.Symbolic):
        known = x.shape
        if known is None or None in known:
            raise NotImplementedError(
                "tf.shape in a function of Dataset.map, where the extent is not known: resize or "
                "reshape first, or use tf.py_function"
            )
        return list(known)
    return list(x.shape)


@op(name="shape")
def shape(input: Any, out_type: Any = _dtypes.int32) -> Any:
    dims = _dims(tensor(input))
    return pm.tensor(np.array(dims, dtype=as_dtype(out_type).as_numpy_dtype))


@op(name="shape_n")
def shape_n(input: Any, out_type: Any = _dtypes.int32) -> Any:
    return [shape(each, out_type) for each in input]


@op(name="size")
def size(input: Any, out_type: Any = _dtypes.int32) -> Any:
    count = math.prod(_dims(tensor(input)))
    return pm.tensor(np.array(count, dtype=as_dtype(out_type).as_numpy_dtype))


@op(name="rank")
def rank(input: Any) -> Any:
    x = tensor(input)
    return pm.tensor(np.array(len(x.shape), dtype=np.int32))


def _reshape_host(tensor: Any, shape: Any) -> Any:
    return tensor.reshape(_fitting(tensor, ints(shape)))


def _fitting(x: Any, dims: list[int]) -> list[int]:
    if isinstance(x, _core.Symbolic):
        return dims
    total, known = math.prod(x.shape), math.prod(each for each in dims if each != -1)
    if dims.count(-1) > 1 or any(each < -1 for each in dims):
        raise InvalidArgumentError(None, None, f"Only one input size may be -1, not {dims} [Op:Reshape]")
    if (-1 in dims and (known == 0 or total % known)) and not (total == 0 and known == 0):
        raise InvalidArgumentError(
            None, None, f"Input to reshape is a tensor with {total} values, but the requested shape "
            f"requires a multiple of {known} [Op:Reshape]",
        )
    if -1 not in dims and known != total:
        raise InvalidArgumentError(
            None, None, f"Input to reshape is a tensor with {total} values, but the requested shape has "
            f"{known} [Op:Reshape]",
        )
    if -1 in dims and known == 0:
        return [0 if each == -1 else each for each in dims]
    return [total // known if each == -1 else each for each in dims]


@op(name="reshape", host=_reshape_host)
def reshape(tensor: Any, shape: Any) -> Any:
    from ._convert import tensor as converted

    x = converted(tensor)
    if isinstance(x, np.ndarray):
        return _reshape_host(x, shape)
    return pm.reshape(x, _fitting(x, ints(shape)))


def _transpose_host(a: Any, perm: Any = None, conjugate: bool = False) -> Any:
    return np.transpose(a, None if perm is None else ints(perm))


@op(name="transpose", host=_transpose_host)
def transpose(a: Any, perm: Any = None, conjugate: bool = False) -> Any:
    x = tensor(a)
    if isinstance(x, np.ndarray):
        return _transpose_host(x, perm)
    order = list(builtins.range(len(x.shape)))[::-1] if perm is None else ints(perm)
    if sorted(each % max(len(x.shape), 1) for each in order) != list(builtins.range(len(x.shape))):
        raise InvalidArgumentError(
            None, None, f"transpose expects a vector of size {len(x.shape)}. But input(1) is {order}"
        )
    return pm.transpose(x, [each % len(x.shape) for each in order]) if order else x


def _expand_host(input: Any, axis: Any) -> Any:
    return np.expand_dims(input, int(static_value(axis)))


@op(name="expand_dims", host=_expand_host)
def expand_dims(input: Any, axis: Any) -> Any:
    x = tensor(input)
    if isinstance(x, np.ndarray):
        return _expand_host(x, axis)
    found = ints(axis)
    if len(found) != 1:
        raise InvalidArgumentError(None, None, "'dim' input must be a tensor with a single value")
    count = len(x.shape) + 1
    if not -count <= found[0] < count:
        raise InvalidArgumentError(
            None, None, f"Tried to expand dim index {found[0]} for tensor with {count - 1} dimensions."
        )
    at = found[0] % count
    if isinstance(x, _core.Symbolic):
        dims = list(x.shape or ())
        dims.insert(at, 1)
        return pm.reshape(x, _known(dims))
    return pm.reshape(x, [*x.shape[:at], 1, *x.shape[at:]])


def _known(dims: list[Any]) -> list[int]:
    if sum(each is None for each in dims) > 1:
        raise NotImplementedError(
            "this shape has several unknown extents in a function of Dataset.map: resize first"
        )
    return [-1 if each is None else each for each in dims]


@op(name="squeeze", host=lambda input, axis=None: np.squeeze(input, None if axis is None else tuple(ints(axis))))
def squeeze(input: Any, axis: Any = None) -> Any:
    x = tensor(input)
    count = len(x.shape)
    if axis is None:
        kept = [each for each in x.shape if each != 1]
    else:
        out = []
        for each in ints(axis):
            if not -count <= each < count:
                raise InvalidArgumentError(None, None, f"Tried to squeeze dim index {each} for tensor with {count} dimensions.")
            if x.shape[each] != 1:
                raise InvalidArgumentError(
                    None, None, f"Can not squeeze dim[{each}], expected a dimension of 1, got {x.shape[each]}"
                )
            out.append(each % count)
        kept = [each for i, each in enumerate(x.shape) if i not in out]
    return pm.reshape(x, _known(list(kept)) if isinstance(x, _core.Symbolic) else kept)


def _all(values: Any, who: str) -> list[Any]:
    """Tensors of one dtype of a list, of which some may be numbers."""
    first = next((each for each in values if isinstance(each, RAW)), None)
    if first is None and all(isinstance(each, (int, float)) for each in values):
        first = tensor([each for each in values])
    parts = [tensor(each, like=first) for each in values]
    if not parts:
        raise ValueError(f"{who} needs at least one tensor")
    for each in parts[1:]:
        if not isinstance(each, np.ndarray) and each.dtype != parts[0].dtype:
            raise mismatch(who, parts[0], each)
    return parts


def _split_apart(values: Any) -> Any:
    """A tensor in the place of a list is its slices."""
    if isinstance(values, RAW) or isinstance(values, np.ndarray):
        return [values[i] for i in builtins.range(values.shape[0] or 0)]
    return values


def _concat_host(values: Any, axis: Any) -> Any:
    parts = [np.asarray(tensor(each)) for each in _split_apart(values)]
    try:
        return np.concatenate(parts, int(static_value(axis)))
    except ValueError as error:
        raise InvalidArgumentError(None, None, f"ConcatOp: {error}") from None


@op(name="concat", host=_concat_host)
def concat(values: Any, axis: Any) -> Any:
    if isinstance(values, RAW):
        return values
    parts = _all(values, "ConcatV2")
    if isinstance(parts[0], np.ndarray):
        return _concat_host(parts, axis)
    if not len(parts[0].shape):
        raise InvalidArgumentError(None, None, "ConcatOp : Expected concatenating dimensions in the range [0, 0)")
    return pm.concat(parts, axis=_axis(axis, len(parts[0].shape)))


def _stack_host(values: Any, axis: Any = 0) -> Any:
    return np.stack([np.asarray(tensor(each)) for each in _split_apart(values)], int(static_value(axis)))


@op(name="stack", host=_stack_host)
def stack(values: Any, axis: Any = 0) -> Any:
    parts = _all(_split_apart(values), "Pack")
    if isinstance(parts[0], np.ndarray):
        return _stack_host(parts, axis)
    for each in parts[1:]:
        if isinstance(each, pm.Tensor) and tuple(each.shape) != tuple(parts[0].shape):
            raise InvalidArgumentError(
                None, None, f"Shapes of all inputs must match: values[0].shape = {list(parts[0].shape)} != "
                f"values[1].shape = {list(each.shape)} [Op:Pack]",
            )
    count = len(parts[0].shape) + 1
    at = int(static_value(axis))
    if not -count <= at < count:
        raise ValueError(f"Argument `axis` = {at} not in range [{-count}, {count})")
    return pm.stack(parts, axis=at % count)


@op(name="unstack", host=lambda value, num=None, axis=0: [np.asarray(each, dtype=object) for each in np.moveaxis(value, axis, 0)])
def unstack(value: Any, num: Any = None, axis: Any = 0) -> Any:
    x = tensor(value)
    if not len(x.shape):
        raise ValueError("Cannot infer argument `num` from shape ()")
    at = int(static_value(axis))
    if not -len(x.shape) <= at < len(x.shape):
        raise ValueError(f"Argument `axis` = {at} not in range [{-len(x.shape)}, {len(x.shape)})")
    at %= len(x.shape)
    if num is not None and num != x.shape[at]:
        raise InvalidArgumentError(None, None, f"Dimension {at} is {x.shape[at]}, not num={num}")
    rest = [each for i, each in enumerate(x.shape) if i != at]
    return [pm.reshape(each, rest) for each in pm.split(x, [1] * x.shape[at], axis=at)] if x.shape[at] else []


@op(name="split", host=lambda value, num_or_size_splits, axis=0, num=None: _split_host(value, num_or_size_splits, axis))
def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None) -> Any:
    x = tensor(value)
    at = _axis(axis, len(x.shape))
    return pm.split(x, _pieces(static_value(num_or_size_splits), x.shape[at]), axis=at)


def _split_host(value: Any, sizes: Any, axis: Any) -> Any:
    at = int(static_value(axis))
    cuts = np.cumsum(_pieces(static_value(sizes), value.shape[at]))[:-1]
    return list(np.split(value, cuts, at))


def _pieces(wanted: Any, extent: int) -> list[int]:
    if not isinstance(wanted, list):
        if wanted < 1 or extent % wanted:
            raise InvalidArgumentError(
                None, None, f"Number of ways to split should evenly divide the split dimension, but got "
                f"split_dim (size = {extent}) and num_split {wanted}",
            )
        return [extent // wanted] * wanted
    known = sum(each for each in wanted if each != -1)
    if wanted.count(-1) == 1:
        wanted = [extent - known if each == -1 else each for each in wanted]
    if sum(wanted) != extent or min(wanted, default=0) < 0:
        raise InvalidArgumentError(
            None, None, f"Determined shape must either match input shape along split_dim exactly if fully "
            f"specified, or be less than the size of the input along split_dim: {wanted} of {extent}",
        )
    return wanted


@op(name="tile", host=lambda input, multiples: np.tile(input, ints(multiples)))
def tile(input: Any, multiples: Any) -> Any:
    x, times = tensor(input), ints(multiples)
    if isinstance(x, np.ndarray):
        return np.tile(x, times)
    if len(times) != len(x.shape):
        raise InvalidArgumentError(
            None, None, f"Expected multiples argument to be a vector of length {len(x.shape)} but got "
            f"length {len(times)}",
        )
    if min(times, default=0) < 0:
        raise InvalidArgumentError(None, None, f"Expected multiples[{times}] >= 0")
    if 0 in times:
        return pm.zeros([a * b for a, b in zip(x.shape, times)], dtype=x.dtype)
    return pm.tile(x, times) if times else x


@op(name="repeat")
def repeat(input: Any, repeats: Any, axis: Any = None) -> Any:
    x = tensor(input)
    if axis is None:
        x, axis = pm.reshape(x, [-1]) if isinstance(x, pm.Tensor) else x.reshape(-1), 0
    at, times = _axis(axis, len(x.shape)), static_value(repeats)
    if isinstance(x, np.ndarray):
        return np.repeat(x, times, at)
    if isinstance(times, list) and len(times) == 1:
        times = times[0]
    if not isinstance(times, list):
        if times == 0:
            return pm.zeros([0 if i == at else n for i, n in enumerate(x.shape)], dtype=x.dtype)
        return _core._repeat(x, int(times), at)
    if len(times) != x.shape[at]:
        raise InvalidArgumentError(None, None, f"repeats has {len(times)} values for an extent of {x.shape[at]}")
    return pm.gather(x, pm.tensor(np.repeat(np.arange(len(times)), times)), axis=at)


@op(name="pad")
def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0) -> Any:
    from ._convert import tensor as converted

    x, around = converted(tensor), static_value(paddings)
    if len(around) != len(x.shape) or any(len(each) != 2 for each in around):
        raise InvalidArgumentError(
            None, None, f"The first dimension of paddings must be the rank of inputs: {around} for "
            f"{list(x.shape)}",
        )
    front, back = [int(a) for a, _ in around], [int(b) for _, b in around]
    if min(front + back, default=0) < 0:
        raise InvalidArgumentError(None, None, f"Paddings must be non-negative: {around}")
    kind = mode.upper()
    if kind == "CONSTANT":
        number = static_value(constant_values)
        return pm.pad(x, front, back, number) if front else x
    if kind not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"Value of argument `mode` expected to be one of CONSTANT, REFLECT or SYMMETRIC, got {mode!r}")
    skip = 1 if kind == "REFLECT" else 0
    for at, (a, b) in enumerate(zip(front, back)):
        extent = x.shape[at]
        if max(a, b) > extent - skip:
            raise InvalidArgumentError(
                None, None, f"paddings must be no greater than the dimension size: {a}, {b} greater than {extent - skip}"
            )
        if a or b:
            indices = np.pad(np.arange(extent), (a, b), kind.lower())
            x = pm.gather(x, pm.tensor(indices), axis=at)
    return x


@op(name="reverse")
def reverse(tensor: Any, axis: Any) -> Any:
    from ._convert import tensor as converted

    x = converted(tensor)
    if isinstance(x, np.ndarray):
        return np.flip(x, ints(axis)).copy()
    for each in ints(axis):
        x = _core._flip(x, _axis(each, len(x.shape)))
    return x


@op(name="roll")
def roll(input: Any, shift: Any, axis: Any) -> Any:
    x = tensor(input)
    for by, at in zip(ints(shift), ints(axis)):
        along = _axis(at, len(x.shape))
        if x.shape[along]:
            x = _core._roll(x, by % x.shape[along], along)
    return x


@op(name="broadcast_to")
def broadcast_to(input: Any, shape: Any) -> Any:
    x = tensor(input)
    if isinstance(x, np.ndarray):
        return np.broadcast_to(x, ints(shape)).copy()
    return pm.broadcast_to(x, ints(shape))


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape that two shapes broadcast to."""
    a, b = TensorShape(shape_x).as_list(), TensorShape(shape_y).as_list()
    made: list[int | None] = []
    for i in builtins.range(max(len(a), len(b))):
        x = a[len(a) - 1 - i] if i < len(a) else 1
        y = b[len(b) - 1 - i] if i < len(b) else 1
        if x != y and 1 not in (x, y) and None not in (x, y):
            raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}.")
        made.append((y if x == 1 else x) if x != y else x)
    return TensorShape(made[::-1])


@op(name="broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    return pm.tensor(np.array(_joined(ints(shape_x), ints(shape_y)), dtype=np.int32))


@op(name="meshgrid")
def meshgrid(*args: Any, indexing: str = "xy") -> Any:
    parts = [tensor(each) for each in args]
    sizes = [math.prod(each.shape) for each in parts]
    swapped = indexing == "xy" and len(parts) > 1
    order = [1, 0, *builtins.range(2, len(parts))] if swapped else list(builtins.range(len(parts)))
    shape = [sizes[i] for i in order]
    made = []
    for i, each in enumerate(parts):
        own = [1] * len(parts)
        own[order.index(i)] = sizes[i]
        made.append(pm.broadcast_to(pm.reshape(each, own), shape))
    return made


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


def _where_host(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return pm.tensor(np.argwhere(numpy_of(condition)).astype(np.int64))
    return np.where(numpy_of(condition), numpy_of(x), numpy_of(y)).astype(object)


@op(name="where", host=_where_host)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    chosen = tensor(condition)
    if x is None and y is None:
        return pm.tensor(np.ascontiguousarray(np.argwhere(numpy_of(chosen)).astype(np.int64)))
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    if chosen.dtype != pm.bool_:
        raise InvalidArgumentError(
            None, None, "cannot compute SelectV2 as input #0(zero-based) was expected to be a bool tensor "
            f"but is a {as_dtype(chosen.dtype).name} tensor [Op:SelectV2]",
        )
    if isinstance(chosen, _core.Symbolic):
        return pm.where(chosen, x, y)
    if isinstance(x, RAW):
        a, b = x, tensor(y, like=x, strict=True)
    elif isinstance(y, RAW):
        a, b = tensor(x, like=y, strict=True), y
    else:
        a = tensor(x)
        b = tensor(y, like=a, strict=True) if isinstance(a, RAW) else tensor(y)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _where_host(chosen, a, b)
    if a.dtype != b.dtype:
        raise mismatch("SelectV2", a, b, 2)
    return pm.where(chosen, a, b)


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
    made = tensor(np.ascontiguousarray(found), as_dtype(values.dtype))
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


def _ranked(values: Any, axis: Any, direction: str) -> tuple[Any, Any, Any]:
    """(sorted values, their places, how to put the axis back)."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be one of 'ASCENDING' or 'DESCENDING'. Received: {direction}")
    x = tensor(values)
    at = _axis(axis, len(x.shape))
    last = len(x.shape) - 1
    order = [i for i in builtins.range(last + 1) if i != at] + [at]
    moved = x if at == last else pm.transpose(x, order)
    wide = moved if x.dtype in (pm.f32, pm.f64) else pm.cast(moved, pm.f64)
    if moved.shape[-1] == 0:
        return x, pm.zeros(list(x.shape), dtype=pm.i64), lambda y: y
    falling = wide if direction == "DESCENDING" else -wide
    _, places = pm.top_k(falling, moved.shape[-1])
    back = [order.index(i) for i in builtins.range(last + 1)]
    ranked_values, _ = pm.top_k(falling, moved.shape[-1])
    ranked = ranked_values if direction == "DESCENDING" else -ranked_values
    return pm.cast(ranked, x.dtype), places, lambda y: y if at == last else pm.transpose(y, back)


@op(name="sort", host=lambda values, axis=-1, direction="ASCENDING": np.sort(values, axis) if direction == "ASCENDING" else np.flip(np.sort(values, axis), axis))
def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING") -> Any:
    ranked, _, back = _ranked(values, axis, direction)
    return back(ranked)


@op(name="argsort")
def argsort(values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False) -> Any:
    _, places, back = _ranked(values, axis, direction)
    return back(pm.cast(places, pm.i32))


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
    values, want = np.ascontiguousarray(numpy_of(input)), np.dtype(as_dtype(type).as_numpy_dtype)
    if want.itemsize == values.dtype.itemsize:
        return tensor(values.view(want))
    if want.itemsize < values.dtype.itemsize:
        made = values.reshape(*values.shape, 1).view(want)
        return tensor(made)
    return tensor(values.view(want).reshape(values.shape[:-1]))
