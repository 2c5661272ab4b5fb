"""keras.ops of NumPy's kind: elements, sums and comparisons."""

from __future__ import annotations

from typing import Any, Callable

from ... import _arrays, _math, _operators, _reduce, _select, _special
from .._base import floatx
from ._shapes import (
    append as append, arange as arange, array as array, array_split as array_split, broadcast_to as broadcast_to,
    concatenate as concatenate, copy as copy, diag as diag, diagonal as diagonal, diff as diff, dot as dot,
    einsum as einsum, empty as empty, empty_like as empty_like, expand_dims as expand_dims, eye as eye, flip as flip, full as full,
    full_like as full_like, hstack as hstack, identity as identity, linspace as linspace, matmul as matmul,
    meshgrid as meshgrid, moveaxis as moveaxis, ndim as ndim, nonzero as nonzero, ones as ones, ones_like as ones_like, outer as outer,
    pad as pad, ravel as ravel, repeat as repeat, reshape as reshape, roll as roll, size as size, split as split,
    squeeze as squeeze, stack as stack, swapaxes as swapaxes, take as take, take_along_axis as take_along_axis,
    tensordot as tensordot, tile as tile, trace as trace, transpose as transpose, tril as tril, triu as triu, vstack as vstack,
    where as where, zeros as zeros, zeros_like as zeros_like,
)
from ._types import cast, floating, pair, tensor


def _floats(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of floats, to which whole numbers are cast."""
    def call(x: Any) -> Any:
        return f(floating(x))

    return call


def _same(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        return f(tensor(x))

    return call


def _both(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of two operands of one type."""
    def call(x1: Any, x2: Any) -> Any:
        return f(*pair(x1, x2))

    return call


sqrt, exp, expm1 = _floats(_operators.sqrt), _floats(_operators.exp), _floats(_special.expm1)
log, log1p = _floats(_math.log), _floats(_math.log1p)
sin, cos, tan, tanh = _floats(_math.sin), _floats(_math.cos), _floats(_math.tan), _floats(_math.tanh)
arcsin, arccos, arctan = _floats(_special.asin), _floats(_special.acos), _floats(_special.atan)
sinh, cosh = _floats(_special.sinh), _floats(_special.cosh)
arcsinh, arccosh, arctanh = _floats(_special.asinh), _floats(_special.acosh), _floats(_special.atanh)
reciprocal = _floats(_math.reciprocal)
isnan, isinf, isfinite = _floats(_math.is_nan), _floats(_math.is_inf), _floats(_math.is_finite)
floor, ceil = _floats(_math.floor), _floats(_math.ceil)
abs, sign, square, negative = _same(_operators.abs), _same(_operators.sign), _same(_operators.square), _same(_operators.negative)
absolute = abs
add, subtract, multiply = _both(_operators.add), _both(_operators.subtract), _both(_operators.multiply)
maximum, minimum, mod = _both(_operators.maximum), _both(_operators.minimum), _both(_operators.floormod)
floor_divide, power = _both(_operators.floordiv), _both(_operators.pow)
equal, not_equal = _both(_operators.equal), _both(_operators.not_equal)
less, less_equal = _both(_operators.less), _both(_operators.less_equal)
greater, greater_equal = _both(_operators.greater), _both(_operators.greater_equal)


def log2(x: Any) -> Any:
    return log(x) / 0.6931471805599453


def log10(x: Any) -> Any:
    return log(x) / 2.302585092994046


def exp2(x: Any) -> Any:
    return exp(floating(x) * 0.6931471805599453)


def divide(x1: Any, x2: Any) -> Any:
    a, b = pair(x1, x2)
    return _operators.truediv(floating(a), floating(b))


true_divide = divide


def divide_no_nan(x1: Any, x2: Any) -> Any:
    a, b = pair(x1, x2)
    return _math.divide_no_nan(floating(a), floating(b))


def arctan2(x1: Any, x2: Any) -> Any:
    a, b = pair(x1, x2)
    return _special.atan2(floating(a), floating(b))


def round(x: Any, decimals: int = 0) -> Any:
    made = tensor(x)
    if not decimals:
        return _math.round(made)
    scale = 10.0**decimals
    return _math.round(floating(made) * scale) / scale


def trunc(x: Any) -> Any:
    made = floating(x)
    return _operators.sign(made) * _math.floor(_operators.abs(made))


def clip(x: Any, x_min: Any, x_max: Any) -> Any:
    return minimum(maximum(x, x_min), x_max)


def logical_not(x: Any) -> Any:
    return _operators.logical_not(cast(x, "bool"))


def logical_and(x1: Any, x2: Any) -> Any:
    return _operators.logical_and(cast(x1, "bool"), cast(x2, "bool"))


def logical_or(x1: Any, x2: Any) -> Any:
    return _operators.logical_or(cast(x1, "bool"), cast(x2, "bool"))


def logical_xor(x1: Any, x2: Any) -> Any:
    return _operators.logical_xor(cast(x1, "bool"), cast(x2, "bool"))


def isclose(x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    a, b = pair(x1, x2)
    near = abs(a - b) <= atol + rtol * abs(b)
    return logical_or(near, logical_and(isnan(a), isnan(b))) if equal_nan else near


def _counting(x: Any) -> Any:
    """What is summed: truths and short numbers as int32."""
    made = tensor(x)
    return cast(made, "int32") if made.dtype.name in ("bool", "int8", "int16") else made


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce.reduce_sum(_counting(x), axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    found = _reduce.reduce_prod(_counting(x), axis, keepdims)
    return found if dtype is None else cast(found, dtype)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce.reduce_mean(floating(x), axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce.reduce_std(floating(x), axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce.reduce_variance(floating(x), axis, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    found = _reduce.reduce_max(tensor(x), axis, keepdims)
    return found if initial is None else maximum(found, initial)


def min(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    found = _reduce.reduce_min(tensor(x), axis, keepdims)
    return found if initial is None else minimum(found, initial)


amax, amin = max, min


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce.reduce_all(cast(x, "bool"), axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce.reduce_any(cast(x, "bool"), axis, keepdims)


def average(x: Any, axis: Any = None, weights: Any = None) -> Any:
    made = floating(x)
    if weights is None:
        return mean(made, axis)
    w = cast(weights, made.dtype)
    if w.shape.rank == 1 and made.shape.rank != 1:
        dims = [1] * made.shape.rank
        dims[axis] = -1
        w = _arrays.reshape(w, dims)
    return sum(made * w, axis) / sum(w * ones_like(made), axis)


def count_nonzero(x: Any, axis: Any = None) -> Any:
    return _reduce.count_nonzero(tensor(x), axis, dtype="int32")


def _flat(x: Any, axis: Any) -> tuple[Any, int]:
    made = tensor(x)
    return (_arrays.reshape(made, [-1]), 0) if axis is None else (made, axis)


def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    made, at = _flat(x, axis)
    found = _math.argmax(made, at, "int32")
    return expand_dims(found, axis) if keepdims and axis is not None else found


def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    made, at = _flat(x, axis)
    found = _math.argmin(made, at, "int32")
    return expand_dims(found, axis) if keepdims and axis is not None else found


def cumsum(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    made, at = _flat(_counting(x), axis)
    found = _math.cumsum(made, at)
    return found if dtype is None else cast(found, dtype)


def cumprod(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    made, at = _flat(_counting(x), axis)
    found = _math.cumprod(made, at)
    return found if dtype is None else cast(found, dtype)


def sort(x: Any, axis: int = -1) -> Any:
    return _select.sort(tensor(x), axis)


def argsort(x: Any, axis: Any = -1) -> Any:
    made, at = _flat(x, axis)
    return _select.argsort(made, at)


def searchsorted(sorted_sequence: Any, values: Any, side: str = "left") -> Any:
    return _select.searchsorted(*pair(sorted_sequence, values), side=side)


def digitize(x: Any, bins: Any) -> Any:
    return searchsorted(cast(bins, floatx()), cast(x, floatx()), side="right")


def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False) -> Any:
    return _math.bincount(cast(x, "int32"), weights=weights, minlength=minlength)


def median(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    made, at = _flat(floating(x), axis)
    ordered = sort(made, at)
    count = int(ordered.shape[at])
    low, high = (take(ordered, i, at) for i in ((count - 1) // 2, count // 2))
    found = (low + high) / 2.0
    return expand_dims(found, at) if keepdims and axis is not None else found
