"""Functions of tensors that are made of other ops."""

from __future__ import annotations

from typing import Sequence

from . import _core, _mistakes
from ._core import DType, Symbolic, Tensor, Variable
from ._traceback import boundary
from .errors import InvalidArgument


def _axis(x: Tensor | Symbolic, axis: int, ndim: int, who: str) -> int:
    if not isinstance(axis, int):
        raise TypeError(f"[{who}] axis is {_mistakes.shown(axis)}; it must be an integer")
    if not -ndim <= axis < ndim:
        raise InvalidArgument(f"[{who}] axis is {axis}, and x has {x.ndim} dimensions")
    return axis % ndim


def _read(x: Tensor | Variable, who: str) -> Tensor:
    if isinstance(x, Variable):
        return x[...]
    if not isinstance(x, (Tensor, Symbolic)):
        raise TypeError(f"[{who}] x is a {type(x).__name__}; it must be a tensor: pm.tensor(...) makes one")
    return x


@boundary
def expand_dims(x: Tensor | Variable, axis: int) -> Tensor:
    """Adds a dimension of one element at `axis`.

    >>> pm.expand_dims(pm.zeros((2, 3)), 1).shape
    (2, 1, 3)
    """
    x = _read(x, "expand_dims")
    at = _axis(x, axis, x.ndim + 1, "expand_dims")
    return x[(slice(None),) * at + (None,)]


@boundary
def squeeze(x: Tensor | Variable, axis: int | Sequence[int] | None = None) -> Tensor:
    """Removes dimensions of one element: all of them, or those at `axis`.

    >>> pm.squeeze(pm.zeros((2, 1, 3))).shape
    (2, 3)
    """
    x = _read(x, "squeeze")
    shape = tuple(x.shape)
    if axis is None:
        gone = {i for i, extent in enumerate(shape) if extent == 1}
    else:
        axes = [axis] if isinstance(axis, int) else list(axis)
        gone = {_axis(x, each, len(shape), "squeeze") for each in axes}
        for each in gone:
            if shape[each] != 1:
                raise InvalidArgument(f"[squeeze] dimension {each} has {shape[each]} elements; only those of 1 can go")
    return x[tuple(0 if i in gone else slice(None) for i in range(len(shape)))] if gone else x


@boundary
def argmin(x: Tensor | Variable, axis: int = -1) -> Tensor:
    """Index of the smallest along an axis; the first of equal ones."""
    x = _read(x, "argmin")
    if x.dtype in (DType.u8, DType.u16, DType.bool_):
        x = _core.cast(x, DType.i64)
    return _core.argmax(-x, axis)


@boundary
def logsumexp(x: Tensor | Variable, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Tensor:
    """The logarithm of the sum of exp(x), over all elements or over an axis, without overflow; of
    nothing it is -inf."""
    x = _read(x, "logsumexp")
    if 0 in x.shape:  # which has no largest element
        return _core.log(_core.sum(_core.exp(x), axis, keepdims=keepdims))
    largest = _core.stop_gradient(_core.max(x, axis, keepdims=True))
    largest = _core.where(_core.is_finite(largest), largest, 0)
    total = _core.log(_core.sum(_core.exp(x - largest), axis, keepdims=True)) + largest
    return total if keepdims else _core.sum(total, axis)
