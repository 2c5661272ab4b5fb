"""keras.ops that make, move and take elements."""

from __future__ import annotations

import builtins
from typing import Any

from ... import _arrays, _create, _gather, _linalg, _math, _operators
from .._base import floatx
from ._types import cast, floating, joined_type, pair, tensor, together


def _known(shape: Any) -> Any:
    return (shape,) if isinstance(shape, int) else shape


def array(x: Any, dtype: Any = None) -> Any:
    return tensor(x, dtype)


def copy(x: Any) -> Any:
    return tensor(x)


def zeros(shape: Any, dtype: Any = None) -> Any:
    return _create.zeros(_known(shape), dtype or floatx())


def ones(shape: Any, dtype: Any = None) -> Any:
    return _create.ones(_known(shape), dtype or floatx())


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    value = tensor(fill_value, dtype) if dtype is not None or not isinstance(fill_value, (int, float)) else tensor(
        fill_value, floatx())
    return _create.fill(_known(shape), value)


empty = zeros


def zeros_like(x: Any, dtype: Any = None) -> Any:
    return _create.zeros_like(tensor(x), dtype)


def ones_like(x: Any, dtype: Any = None) -> Any:
    return _create.ones_like(tensor(x), dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    made = ones_like(x, dtype)
    return made * cast(fill_value, made.dtype)


empty_like = zeros_like


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    columns = N if M is None else M
    rows = _create.range(N)
    return cast(_operators.equal(expand_dims(rows, 1) + k, expand_dims(_create.range(columns), 0)), dtype or floatx())


def identity(n: int, dtype: Any = None) -> Any:
    return eye(n, dtype=dtype)


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    step = 1 if step is None else step
    if dtype is None:
        plain = [each for each in (start, stop, step) if each is not None]
        dtype = floatx() if builtins.any(isinstance(each, float) for each in plain) else "int32"
    return _create.range(start, delta=step, dtype=dtype) if stop is None else _create.range(start, stop, step, dtype=dtype)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    begin, end = floating(start), floating(stop)
    step = (end - begin) / builtins.max(num - 1 if endpoint else num, 1)
    found = _create.linspace(begin, end if endpoint else end - step, num, axis)
    found = found if dtype is None else cast(found, dtype)
    return (found, step) if retstep else found


def reshape(x: Any, newshape: Any) -> Any:
    return _arrays.reshape(tensor(x), _known(newshape))


def ravel(x: Any) -> Any:
    return _arrays.reshape(tensor(x), [-1])


def transpose(x: Any, axes: Any = None) -> Any:
    return _arrays.transpose(tensor(x), axes)


def expand_dims(x: Any, axis: Any) -> Any:
    made = tensor(x)
    if isinstance(axis, (list, tuple)):
        rank = made.shape.rank + len(axis)
        for each in sorted(at % rank for at in axis):
            made = _arrays.expand_dims(made, each)
        return made
    return _arrays.expand_dims(made, axis)


def squeeze(x: Any, axis: Any = None) -> Any:
    return _arrays.squeeze(tensor(x), axis)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    made = tensor(x)
    order = list(range(made.shape.rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return _arrays.transpose(made, order)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    made = tensor(x)
    rank = made.shape.rank
    moved = [at % rank for at in ([source] if isinstance(source, int) else source)]
    to = [at % rank for at in ([destination] if isinstance(destination, int) else destination)]
    order = [at for at in range(rank) if at not in moved]
    for where_to, each in sorted(zip(to, moved)):
        order.insert(where_to, each)
    return _arrays.transpose(made, order)


def concatenate(xs: Any, axis: int | None = 0) -> Any:
    parts = together(xs)
    if axis is None:
        return _arrays.concat([ravel(each) for each in parts], 0)
    return _arrays.concat(parts, axis)


def append(x1: Any, x2: Any, axis: int | None = None) -> Any:
    return concatenate([x1, x2], axis)


def stack(x: Any, axis: int = 0) -> Any:
    return _arrays.stack(together(x), axis)


def hstack(xs: Any) -> Any:
    parts = together(xs)
    return _arrays.concat(parts, 0 if parts[0].shape.rank == 1 else 1)


def vstack(xs: Any) -> Any:
    parts = together(xs)
    return _arrays.concat([expand_dims(each, 0) if each.shape.rank == 1 else each for each in parts], 0)


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """In so many parts, or before each of the indices."""
    made = tensor(x)
    if isinstance(indices_or_sections, int):
        return _arrays.split(made, indices_or_sections, axis)
    ends = [*(int(at) for at in indices_or_sections), int(made.shape[axis])]
    return _arrays.split(made, [end - begin for begin, end in zip([0, *ends], ends)], axis)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    made = tensor(x)
    if not isinstance(indices_or_sections, int):
        return split(made, indices_or_sections, axis)
    size_, parts = int(made.shape[axis]), indices_or_sections
    return _arrays.split(made, [size_ // parts + (i < size_ % parts) for i in range(parts)], axis)


def flip(x: Any, axis: Any = None) -> Any:
    made = tensor(x)
    axes = list(range(made.shape.rank)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    return _arrays.reverse(made, axes)


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    made = tensor(x)
    if axis is None:
        return _arrays.reshape(_arrays.roll(ravel(made), shift, 0), _arrays.shape(made))
    return _arrays.roll(made, shift, axis)


def tile(x: Any, repeats: Any) -> Any:
    made = tensor(x)
    counts = [repeats] if isinstance(repeats, int) else list(repeats)
    while made.shape.rank < len(counts):
        made = expand_dims(made, 0)
    return _arrays.tile(made, [*[1] * (made.shape.rank - len(counts)), *counts])


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    return _arrays.repeat(tensor(x), repeats, axis)


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> Any:
    made = tensor(x)
    if isinstance(pad_width, int):
        pad_width = ((pad_width, pad_width),) * made.shape.rank
    elif isinstance(pad_width[0], int):
        pad_width = (tuple(pad_width),) * made.shape.rank
    elif len(pad_width) == 1:
        pad_width = tuple(pad_width) * made.shape.rank
    return _arrays.pad(made, [list(each) for each in pad_width], mode.upper(),
                       0 if constant_values is None else constant_values)


def broadcast_to(x: Any, shape: Any) -> Any:
    return _arrays.broadcast_to(tensor(x), shape)


def meshgrid(*x: Any, indexing: str = "xy") -> Any:
    return _arrays.meshgrid(*(tensor(each) for each in x), indexing=indexing)


def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    truths = cast(condition, "bool")
    if x1 is None and x2 is None:
        return nonzero(truths)
    return _arrays.where(truths, *pair(x1, x2))


def nonzero(x: Any) -> Any:
    found = _arrays.where(cast(x, "bool"))
    return tuple(cast(each, "int32") for each in _arrays.unstack(found, axis=1))


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """Elements by index; negative ones count from the end."""
    made, at = tensor(x), tensor(indices)
    made, axis = (ravel(made), 0) if axis is None else (made, axis)
    if at.dtype.name not in ("int32", "int64"):
        at = cast(at, "int32")
    extent = made.shape[axis]
    if extent is not None:
        at = _arrays.where(at < 0, at + int(extent), at)
    return _gather.gather(made, at, axis=axis)


def take_along_axis(x: Any, indices: Any, axis: int | None = None) -> Any:
    made, at = tensor(x), cast(indices, "int32")
    if axis is None:
        return _gather.gather(ravel(made), ravel(at))
    rank = made.shape.rank
    axis %= rank
    at = _arrays.where(at < 0, at + int(made.shape[axis]), at)
    if axis == rank - 1:
        return _gather.gather(made, at, batch_dims=rank - 1)
    found = take_along_axis(swapaxes(made, axis, -1), swapaxes(at, axis, -1), -1)
    return swapaxes(found, axis, -1)


def _triangle(x: Any, k: int, keep_lower: bool) -> Any:
    made = tensor(x)
    rows = expand_dims(_create.range(int(made.shape[-2])), 1)
    columns = expand_dims(_create.range(int(made.shape[-1])), 0)
    inside = columns <= rows + k if keep_lower else columns >= rows + k
    return _arrays.where(inside, made, zeros_like(made))


def tril(x: Any, k: int = 0) -> Any:
    return _triangle(x, k, True)


def triu(x: Any, k: int = 0) -> Any:
    return _triangle(x, k, False)


def diag(x: Any, k: int = 0) -> Any:
    made = tensor(x)
    return _linalg.diag(made, k=k) if made.shape.rank == 1 else _linalg.diag_part(made, k=k)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return _linalg.diag_part(moveaxis(x, (axis1, axis2), (-2, -1)), k=offset)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    from .numpy import sum as total

    return total(diagonal(x, offset, axis1, axis2), -1)


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    made = tensor(a)
    for _ in range(n):
        count = int(made.shape[axis])
        made = take(made, arange(1, count), axis) - take(made, arange(0, count - 1), axis)
    return made


def matmul(x1: Any, x2: Any) -> Any:
    """A product of matrices, with NumPy's rules for vectors."""
    a, b = pair(x1, x2)
    if a.shape.rank == 1 and b.shape.rank == 1:
        return _math.tensordot(a, b, 1)
    if b.shape.rank == 1:
        return _arrays.squeeze(_operators.matmul(a, expand_dims(b, -1)), -1)
    if a.shape.rank == 1:
        return _arrays.squeeze(_operators.matmul(expand_dims(a, 0), b), -2)
    return _operators.matmul(a, b)


def dot(x1: Any, x2: Any) -> Any:
    a, b = pair(x1, x2)
    if a.shape.rank == 0 or b.shape.rank == 0:
        return a * b
    return _math.tensordot(a, b, [[a.shape.rank - 1], [builtins.max(b.shape.rank - 2, 0)]])


def outer(x1: Any, x2: Any) -> Any:
    a, b = pair(x1, x2)
    return expand_dims(ravel(a), 1) * expand_dims(ravel(b), 0)


def tensordot(x1: Any, x2: Any, axes: Any = 2) -> Any:
    return _math.tensordot(*pair(x1, x2), axes)


def einsum(subscripts: str, *operands: Any) -> Any:
    return _math.einsum(subscripts, *together(operands))


def size(x: Any) -> Any:
    made = tensor(x)
    return made.shape.num_elements() if made.shape.is_fully_defined() else _arrays.size(made)


def ndim(x: Any) -> int:
    return int(tensor(x).shape.rank)


def result_type(*dtypes: Any) -> str:
    from ._types import dtype_name

    found = dtype_name(dtypes[0]) if dtypes else floatx()
    for each in dtypes[1:]:
        found = joined_type(found, dtype_name(each))
    return found
