"""Reductions: sums, means and their like, over axes or over everything."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

import plimsoll as pm

from . import _dtypes
from ._convert import tensor
from ._dispatch import op, static_value
from ._errors import InvalidArgumentError
from ._operators import FLOATS, maximum, minimum
from ._state import state
from ._tensor import Tensor


def axes_of(axis: Any, rank: int) -> list[int] | None:
    """Axes from 0 on; None for all."""
    if axis is None:
        return None
    found = static_value(axis)
    listed = found if isinstance(found, list) else [found]
    result = []
    for each in listed:
        if not isinstance(each, int):
            raise InvalidArgumentError(None, None, f"axis is {each!r}; it must be an integer")
        if not -rank <= each < rank:
            raise InvalidArgumentError(
                None, None,
                f"Invalid reduction dimension ({each} for input with {rank} dimension(s))",
            )
        result.append(each % rank)
    if len(set(result)) != len(result):
        raise InvalidArgumentError(
            None, None, f"Invalid reduction arguments: Axes contains duplicate dimension: {result[0]}"
        )
    return result


def reduction(
    name: str, f: Callable[..., Any], empty: Callable[[Any], float] | None = None, *refused: Any,
    truths: bool = False,
) -> Callable[..., Any]:
    """A tf reduction (input_tensor, axis=None, keepdims=False)."""
    def call(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if hasattr(input_tensor, "row_splits"):
            return _of_rows(call, input_tensor, axis, keepdims)
        x = tensor(input_tensor)
        if x.dtype in refused or isinstance(x, np.ndarray):
            raise InvalidArgumentError(
                None, None, f"tf.{name} has no kernel for {_dtypes.as_dtype(x.dtype).name}"
            )
        if truths and x.dtype != pm.bool_:
            said = f"it takes bool, and this tensor is {_dtypes.as_dtype(x.dtype).name}"
            raise ValueError(said) if isinstance(axis, (list, tuple)) else InvalidArgumentError(None, None, said)
        axes = axes_of(axis, len(x.shape))
        if axes == []:
            return f(pm.reshape(x, [*x.shape, 1]), axis=[len(x.shape)], keepdims=False)
        if empty is not None and isinstance(x, pm.Tensor) and x.size == 0:
            return _of_nothing(x, axes, bool(keepdims), empty(x))
        return f(x, axis=axes, keepdims=bool(keepdims))

    call.__name__ = name.rsplit(".", 1)[-1]
    return op(name=name)(call)


def _of_rows(call: Callable[..., Any], ragged: Any, axis: Any, keepdims: bool) -> Any:
    """A reduction of a RaggedTensor: over all values, or of each row."""
    values = tensor(ragged.flat_values._value)
    if axis is None:
        return call(values)
    if axis not in (1, -1) or hasattr(ragged.values, "row_splits") or values.ndim != 1:
        from ._errors import unsupported

        unsupported("a reduction of a RaggedTensor", f"axis={axis}", "ragged.to_tensor() and a mask")
    ends = ragged._splits.tolist()
    rows = [pm.reshape(call(values[begin:end]), [1]) for begin, end in zip(ends, ends[1:])]
    found = pm.concat(rows, 0)
    return pm.reshape(found, [len(rows), 1]) if keepdims else found


def _of_nothing(x: Any, axes: list[int] | None, keepdims: bool, value: float) -> Any:
    over = list(range(x.ndim)) if axes is None else axes
    shape = [1 if i in over else n for i, n in enumerate(x.shape) if keepdims or i not in over]
    return pm.full(shape, value, dtype=x.dtype)


def _sum(x: Any, axis: Any, keepdims: bool) -> Any:
    found = pm.sum(x, axis=axis, keepdims=keepdims)
    return found if found.dtype == x.dtype else pm.cast(found, x.dtype)


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype in FLOATS:
        return pm.mean(x, axis=axis, keepdims=keepdims)
    total = pm.sum(pm.cast(x, pm.i64), axis=axis, keepdims=keepdims)
    count = 1
    for i in range(len(x.shape)) if axis is None else axis:
        count *= x.shape[i]
    if count == 0:
        return pm.cast(total, x.dtype)
    return pm.cast(pm.div(total, pm.full((), count, dtype=pm.i64)), x.dtype)


def _lowest(x: Any) -> float:
    return float("-inf") if x.dtype in FLOATS else int(_dtypes.BY_PM[x.dtype].min)


def _highest(x: Any) -> float:
    return float("inf") if x.dtype in FLOATS else int(_dtypes.BY_PM[x.dtype].max)


def _prod(x: Any, axis: Any, keepdims: bool) -> Any:
    found = pm.prod(x, axis=axis, keepdims=keepdims)
    return found if found.dtype == x.dtype else pm.cast(found, x.dtype)


def _variance(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype not in FLOATS:
        raise TypeError(f"Input must be either real or complex. Received integer type {x.dtype.name}.")
    return pm.variance(x, axis=axis, keepdims=keepdims)


def _logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    most = pm.max(x, axis=axis, keepdims=True)
    most = pm.stop_gradient(pm.where(pm.is_finite(most), most, 0))
    total = pm.log(pm.sum(pm.exp(x - most), axis=axis, keepdims=keepdims))
    return total + (most if keepdims else pm.reshape(most, list(total.shape)))


def _euclidean(x: Any, axis: Any, keepdims: bool) -> Any:
    return pm.sqrt(pm.sum(pm.square(x), axis=axis, keepdims=keepdims))


reduce_sum = reduction("reduce_sum", _sum, lambda x: 0, pm.bool_)
reduce_mean = reduction("reduce_mean", _mean, None, pm.bool_)
reduce_max = reduction("reduce_max", lambda x, **how: pm.max(x, **how), _lowest, pm.bool_)
reduce_min = reduction("reduce_min", lambda x, **how: pm.min(x, **how), _highest, pm.bool_)
reduce_prod = reduction("reduce_prod", _prod, lambda x: 1, pm.bool_)
reduce_all = reduction("reduce_all", lambda x, **how: pm.all(x, **how), lambda x: 1, truths=True)
reduce_any = reduction("reduce_any", lambda x, **how: pm.any(x, **how), lambda x: 0, truths=True)
reduce_variance = reduction("math.reduce_variance", _variance)
reduce_std = reduction("math.reduce_std", lambda x, **how: pm.sqrt(_variance(x, **how)))
reduce_logsumexp = reduction("reduce_logsumexp", _logsumexp)
reduce_euclidean_norm = reduction("math.reduce_euclidean_norm", _euclidean)


@op(name="norm")
def norm(tensor_: Any = None, ord: Any = "euclidean", axis: Any = None, keepdims: Any = None, *, tensor: Any = None) -> Any:
    from ._convert import tensor as converted

    x = converted(tensor_ if tensor is None else tensor)
    axes = axes_of(axis, len(x.shape))
    how: dict[str, Any] = dict(axis=axes, keepdims=bool(keepdims))
    matrix = axes is not None and len(axes) == 2
    if ord in ("euclidean", 2, 2.0) and not (matrix and ord != "euclidean") or ord == "fro" and matrix:
        return _euclidean(x, **how)
    if not matrix and ord in (1, 1.0):
        return pm.sum(pm.abs(x), **how)
    if not matrix and ord == np.inf:
        return pm.max(pm.abs(x), **how)
    if not matrix and isinstance(ord, (int, float)) and ord > 0:
        return pm.sum(pm.abs(x) ** float(ord), **how) ** (1.0 / float(ord))
    if matrix and ord in (1, np.inf) and axes is not None:
        inner = axes[0] if ord == 1 else axes[1]
        outer = axes[1] if ord == 1 else axes[0]
        found = pm.max(pm.sum(pm.abs(x), axis=inner, keepdims=True), axis=outer, keepdims=True)
        return found if keepdims else pm.reshape(
            found, [n for i, n in enumerate(found.shape) if i not in axes]
        )
    raise ValueError(f"'ord' must be a supported vector norm or matrix norm, got {ord}")


def _parts(t: Any) -> Any:
    """The gradients of rows, one below the other, of the gradient of an embedding: its norm is theirs."""
    found = getattr(t, "_keras_rows", None)
    return t if not found or state.inside else Tensor(pm.concat(
        [rows.reshape((ids.size, rows.shape[-1])) for ids, rows in found], axis=0))


def _scaled(t: Any, given: Any, factor: Any) -> Any:
    """A clipped gradient, with the rows of the one that was given as much smaller."""
    if getattr(given, "_keras_rows", None) and not state.inside:
        t._keras_rows = [(ids, rows * factor._value) for ids, rows in given._keras_rows]
    return t


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """`t` no longer than `clip_norm`."""
    if axes is None and _parts(t) is not t:
        size = global_norm([t])
        factor = clip_norm / maximum(size, clip_norm)
        return _scaled(t * factor, t, factor)
    return _clip_by_norm(t, clip_norm, axes, name=name)


def global_norm(t_list: Any, name: str | None = None) -> Any:
    """The length of all tensors as one vector."""
    return _global_norm([_parts(each) for each in t_list], name=name)


def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None) -> Any:
    """Tensors that together are no longer than `clip_norm`, and how long they were."""
    given = list(t_list)
    if use_norm is None and any(_parts(each) is not each for each in given):
        use_norm = global_norm(given)
    found, size = _clip_by_global_norm(given, clip_norm, use_norm, name=name)
    if any(getattr(each, "_keras_rows", None) for each in given) and not state.inside:
        factor = clip_norm * minimum(1.0 / size, 1.0 / clip_norm)
        found = [each if each is None else _scaled(each, before, factor) for each, before in zip(found, given)]
    return found, size


@op(name="clip_by_norm")
def _clip_by_norm(t: Any, clip_norm: Any, axes: Any = None) -> Any:
    x = tensor(t)
    limit = tensor(clip_norm, like=x)
    over = axes_of(axes, len(x.shape))
    total = pm.sum(pm.square(x), axis=over, keepdims=True)
    positive = total > 0
    size = pm.where(positive, pm.sqrt(pm.where(positive, total, 1)), total)
    return x * limit / pm.maximum(size, limit)


@op(name="linalg.global_norm")
def _global_norm(t_list: Any) -> Any:
    return pm.global_norm([tensor(each) for each in t_list if each is not None])


@op(name="clip_by_global_norm")
def _clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None) -> Any:
    given = [each if each is None else tensor(each) for each in t_list]
    size = _global_norm(given) if use_norm is None else tensor(use_norm)
    limit = tensor(clip_norm, like=size)
    factor = limit * pm.minimum(1 / size, 1 / limit)
    return [each if each is None else each * pm.cast(factor, each.dtype) for each in given], size


@op(name="math.count_nonzero")
def count_nonzero(input: Any, axis: Any = None, keepdims: Any = None, dtype: Any = _dtypes.int64) -> Any:
    x = tensor(input)
    if isinstance(x, np.ndarray):
        x = pm.tensor(np.array([len(each) > 0 for each in x.reshape(-1)]).reshape(x.shape))
    counted = pm.cast(x if x.dtype == pm.bool_ else x != 0, pm.i64)
    found = reduce_sum(counted, axis, bool(keepdims))
    return pm.cast(found, _dtypes.as_dtype(dtype).pm or pm.i64)
