"""keras.ops of tensors themselves: shapes, types, control flow, slices."""

from __future__ import annotations

import builtins
from typing import Any, Callable

import numpy as np

from ... import _arrays, _control, _custom, _gather, _indexing, _nest, _tape
from ..._tensor import Tensor
from ..._variable import Variable
from . import _types
from ._shapes import expand_dims
from ._types import tensor


def convert_to_tensor(x: Any, dtype: Any = None, sparse: Any = None, ragged: Any = None) -> Any:
    return tensor(x, dtype)


def convert_to_numpy(x: Any) -> Any:
    if isinstance(x, (Tensor, Variable)) or hasattr(x, "_as_tensor"):
        return np.asarray(x.numpy())
    return np.asarray(x)


def cast(x: Any, dtype: Any) -> Any:
    return _types.cast(x, dtype)


def shape(x: Any) -> tuple[Any, ...]:
    """The extents: numbers where they are known, tensors otherwise."""
    made = tensor(x)
    dims = made.shape.as_list()
    if None not in dims:
        return tuple(dims)
    found = _arrays.shape(made)
    return tuple(found[i] if size is None else size for i, size in enumerate(dims))


def dtype(x: Any) -> str:
    return str(tensor(x).dtype.name)


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def stop_gradient(variable: Any) -> Any:
    return _tape.stop_gradient(tensor(variable))


custom_gradient = _custom.custom_gradient


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    return _control.cond(pred, true_fn, false_fn)


def while_loop(cond: Any, body: Any, loop_vars: Any, maximum_iterations: int | None = None) -> Any:
    several = isinstance(loop_vars, (list, tuple))
    found = _control.while_loop(cond, body, loop_vars if several else [loop_vars], maximum_iterations=maximum_iterations)
    return tuple(found) if several else found[0]


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    value = init_val
    for i in builtins.range(int(lower), int(upper)):
        value = body_fun(i, value)
    return value


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    return _control.map_fn(f, xs)


def vectorized_map(function: Callable[[Any], Any], elements: Any) -> Any:
    return _control.map_fn(function, elements)


def switch(index: Any, branches: Any, *operands: Any) -> Any:
    return _control.switch_case(index, [lambda f=f: f(*operands) for f in branches])


def scan(
    f: Callable[[Any, Any], Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
    unroll: Any = 1,
) -> Any:
    """f(carry, slice) -> (carry, result), over the first dimension: the last carry and the stacked results."""
    flat = [tensor(each) for each in _nest.flatten(xs)] if xs is not None else []
    count = int(flat[0].shape[0]) if flat else int(length or 0)
    order = builtins.range(count)
    carry, results = init, []
    for i in reversed(order) if reverse else order:
        part = None if xs is None else _nest.pack_sequence_as(xs, [each[i] for each in flat])
        carry, made = f(carry, part)
        results.append(made)
    if reverse:
        results.reverse()
    if not results or results[0] is None:
        return carry, None
    return carry, _nest.map_structure(lambda *parts: _arrays.stack([tensor(each) for each in parts]), *results)


def unstack(x: Any, num: int | None = None, axis: int = 0) -> Any:
    return _arrays.unstack(tensor(x), num, axis)


def slice(inputs: Any, start_indices: Any, shape: Any) -> Any:
    return _indexing.slice_(tensor(inputs), start_indices, shape)


def slice_update(inputs: Any, start_indices: Any, updates: Any) -> Any:
    """`inputs` with a block replaced."""
    made, given = tensor(inputs), tensor(updates)
    places = np.stack(np.meshgrid(*(np.arange(n) for n in given.shape.as_list()), indexing="ij"), -1)
    places = places + np.asarray([int(at) for at in start_indices])
    flat = places.reshape(-1, places.shape[-1]).astype("int32")
    return _gather.tensor_scatter_nd_update(made, flat, _arrays.reshape(_types.cast(given, made.dtype), [-1]))


def scatter(indices: Any, values: Any, shape: Any) -> Any:
    return _gather.scatter_nd(_types.cast(indices, "int32"), tensor(values), shape)


def scatter_update(inputs: Any, indices: Any, updates: Any) -> Any:
    made = tensor(inputs)
    return _gather.tensor_scatter_nd_update(made, _types.cast(indices, "int32"), _types.cast(updates, made.dtype))


def saturate_cast(x: Any, dtype: Any) -> Any:
    from ..._math import saturate_cast as saturated

    return saturated(tensor(x), dtype)


__all__ = [
    "cast", "cond", "convert_to_numpy", "convert_to_tensor", "custom_gradient", "dtype", "expand_dims", "fori_loop",
    "is_tensor", "map", "saturate_cast", "scan", "scatter", "scatter_update", "shape", "slice", "slice_update",
    "stop_gradient", "switch", "unstack", "vectorized_map", "while_loop",
]
