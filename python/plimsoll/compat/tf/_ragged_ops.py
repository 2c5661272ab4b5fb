"""Ops on RaggedTensors: elementwise on their values, reductions over rows, joins."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import _nest
from ._errors import InvalidArgumentError
from ._ragged import RaggedTensor, from_rows

_EACH = frozenset((
    "abs", "add", "as_string", "cast", "ceil", "clip_by_value", "cos", "divide", "equal", "exp", "floor", "floordiv",
    "floormod", "greater", "greater_equal", "identity", "is_nan", "leaky_relu", "length", "less", "less_equal", "log",
    "log1p", "logical_and", "logical_not", "logical_or", "lower", "maximum", "minimum", "mod", "multiply", "negative",
    "not_equal", "ones_like", "pow", "radd", "regex_full_match", "regex_replace", "relu", "round", "rsqrt", "sigmoid", "sign",
    "sin", "sqrt", "square", "strip", "substr", "subtract", "tan", "tanh", "to_hash_bucket", "to_hash_bucket_fast",
    "to_number", "truediv", "upper", "zeros_like",
))
_REDUCE = frozenset((
    "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
))
_LOOKUP = frozenset(("embedding_lookup", "gather"))


def apply(called: str, call: Callable[..., Any], args: Any, kwargs: Any, otherwise: Callable[[], Any]) -> Any:
    """The result of an op with RaggedTensors among its arguments."""
    name = called.rpartition(".")[2]
    if name in _EACH:
        return _each(called, call, args, kwargs)
    if name in _REDUCE:
        return _reduced(call, args, kwargs)
    if name in _LOOKUP and not isinstance(args[0], RaggedTensor):
        ids = args[1]
        return _with(ids, call(args[0], ids.flat_values, *args[2:], **kwargs))
    if name == "concat":
        found = _joined(*args, **kwargs)
        if found is not None:
            return found
    if name == "stack" and len(args) < 2 and not kwargs.get("axis"):
        return from_rows(list(args[0]), args[0][0].dtype)
    if name == "reduce_join":
        return _reduced(lambda row, axis=None: call(row, axis, **{k: v for k, v in kwargs.items() if k != "axis"}), args, kwargs)
    if name == "tile":
        found = _tiled(*args, **kwargs)
        if found is not None:
            return found
    try:
        return otherwise()
    except (TypeError, ValueError, InvalidArgumentError) as error:
        raise NotImplementedError(
            f"tf.{called} of a RaggedTensor is not supported by plimsoll.compat.tf; use to_tensor() first, or map over "
            f"the rows in Python ({error})") from None


def _with(like: RaggedTensor, flat: Any) -> RaggedTensor:
    """The rows of `like` with other values."""
    inner = like.values
    return RaggedTensor(_with(inner, flat) if isinstance(inner, RaggedTensor) else flat, like._splits)


def _splits(x: RaggedTensor) -> list[Any]:
    return [x._splits, *(_splits(x.values) if isinstance(x.values, RaggedTensor) else [])]


def _each(called: str, call: Callable[..., Any], args: Any, kwargs: Any) -> RaggedTensor:
    first = next(x for x in _nest.flatten((args, kwargs)) if isinstance(x, RaggedTensor))

    def flat(x: Any) -> Any:
        if isinstance(x, RaggedTensor):
            same = len(_splits(x)) == len(_splits(first)) and all(
                np.array_equal(a, b) for a, b in zip(_splits(x), _splits(first)))
            if not same:
                raise InvalidArgumentError(None, None, f"tf.{called}: the RaggedTensors have rows of different lengths")
            return x.flat_values
        if getattr(x, "shape", None) is not None and len(x.shape) > 0:
            raise NotImplementedError(
                f"tf.{called} of a RaggedTensor and a tensor of shape {tuple(x.shape)} is not supported by "
                "plimsoll.compat.tf; use to_tensor() first")
        return x

    return _with(first, call(*_nest.map_structure(flat, args), **_nest.map_structure(flat, kwargs)))


def _reduced(call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    from ._arrays import stack

    x, axis = args[0], args[1] if len(args) > 1 else kwargs.get("axis")
    if axis is None:
        return call(x.flat_values)
    axis = int(axis) + len(x.shape) if int(axis) < 0 else int(axis)
    if axis == 0 or kwargs.get("keepdims"):
        raise NotImplementedError(
            f"reducing a RaggedTensor over axis {axis}{' with keepdims' if axis else ''} is not supported by "
            "plimsoll.compat.tf; use to_tensor() first")
    if axis > 1:
        inner = call(x.values, axis - 1)
        return RaggedTensor(inner, x._splits)
    if isinstance(x.values, RaggedTensor):
        raise NotImplementedError(
            "reducing the outer of several ragged axes is not supported by plimsoll.compat.tf; use to_tensor() first")
    return stack([call(row, 0) for row in x])


def _joined(values: Any, axis: Any, name: str | None = None) -> Any:
    if int(axis) not in (0, 1) or not isinstance(values, (list, tuple)):
        return None
    dtype = next(x.dtype for x in values if isinstance(x, RaggedTensor))
    rows = [list(x) for x in values]
    if int(axis) == 0:
        return from_rows([row for each in rows for row in each], dtype)
    return from_rows([np.concatenate([np.asarray(_plain(part)) for part in parts]) for parts in zip(*rows)], dtype)


def _tiled(input: Any, multiples: Any, name: str | None = None) -> Any:
    times = [int(each) for each in multiples]
    if len(times) != 2 or isinstance(input.values, RaggedTensor):
        return None
    return from_rows([np.tile(np.asarray(_plain(row)), times[1]) for _ in range(times[0]) for row in input], input.dtype)


def _plain(x: Any) -> Any:
    return x.numpy() if hasattr(x, "numpy") else x
