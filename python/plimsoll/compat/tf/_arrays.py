"""Shapes, and ops that move elements."""

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


def _joined(a: list[int], b: list[int]) -> list[int]:
    return list(np.broadcast_shapes(tuple(a), tuple(b)))


def _dims(x: Any) -> list[int]:
    if isinstance(x, _core.Symbolic):
        known = x.shape
        if known is None or None in known:
            raise NotImplementedError(
                "tf.shape in a function of Dataset.map, where the extent is not known: resize or "
                "reshape first, or use tf.py_function"
            )
        return [int(each) for each in known if each is not None]
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
        dims: Any = values.shape
        return [values[i] for i in builtins.range(dims[0] or 0)]
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
    if len(parts) == 1:
        return parts[0]
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


def _pieces(wanted: Any, extent: int) -> Any:
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
        return pm.repeat(x, int(times), at)
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
            how: Any = kind.lower()
            indices = np.pad(np.arange(extent), (a, b), how)
            x = pm.gather(x, pm.tensor(indices), axis=at)
    return x


@op(name="reverse")
def reverse(tensor: Any, axis: Any) -> Any:
    from ._convert import tensor as converted

    x = converted(tensor)
    if isinstance(x, np.ndarray):
        return np.flip(x, tuple(ints(axis))).copy()
    for each in ints(axis):
        x = pm.flip(x, _axis(each, len(x.shape)))
    return x


@op(name="roll")
def roll(input: Any, shift: Any, axis: Any) -> Any:
    x = tensor(input)
    for by, at in zip(ints(shift), ints(axis)):
        along = _axis(at, len(x.shape))
        if x.shape[along]:
            x = pm.roll(x, by % x.shape[along], along)
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


def _where_host(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return pm.tensor(np.argwhere(numpy_of(condition)).astype(np.int64))
    return np.where(numpy_of(condition), numpy_of(x), numpy_of(y)).astype(object)


@op(name="where", host=_where_host)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    chosen = tensor(condition)
    if x is None and y is None:
        if not len(chosen.shape):
            raise InvalidArgumentError(None, None, "WhereOp: the condition must have at least one dimension")
        return pm.tensor(np.asarray(np.argwhere(numpy_of(chosen)).astype(np.int64), order="C"))
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


