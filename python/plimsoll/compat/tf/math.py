"""tf.math."""

from __future__ import annotations

from typing import Any

from . import _names
from ._complex import abs, angle, conj, imag, real
from ._gather import (
    segment_max, segment_mean, segment_min, segment_sum, unsorted_segment_max, unsorted_segment_mean,
    unsorted_segment_min, unsorted_segment_sum,
)
from ._math import (
    accumulate_n, add_n, argmax, argmin, bincount, ceil, confusion_matrix, cos, cumprod, cumsum,
    cumulative_logsumexp, divide_no_nan, erf, erfc, floor, in_top_k, is_finite, is_inf, is_nan,
    l2_normalize, log, log1p, log_sigmoid, multiply_no_nan, nextafter, polyval, reciprocal, rint,
    round, rsqrt, scalar_mul, sigmoid, sin, softplus, softsign, squared_difference, tan, tanh,
    top_k, xlog1py, xlogy, zero_fraction,
)
from ._nn import log_softmax, softmax
from ._operators import (
    add, divide, equal, exp, floordiv, floormod, greater, greater_equal, less, less_equal,
    logical_and, logical_not, logical_or, logical_xor, maximum, minimum, multiply, negative, not_equal,
    pow, sign, sqrt, square, subtract, truediv,
)
from ._special import (
    acos, acosh, asin, asinh, atan, atan2, atanh, cosh, digamma, erfinv, expm1, lgamma, ndtri, sinh,
)
from ._reduce import (
    count_nonzero, reduce_all, reduce_any, reduce_euclidean_norm, reduce_logsumexp, reduce_max,
    reduce_mean, reduce_min, reduce_prod, reduce_std, reduce_sum, reduce_variance,
)

mod = floormod

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "argmax", "argmin", "asin", "asinh", "atan",
    "atan2", "atanh", "bincount", "ceil", "confusion_matrix", "conj", "cos", "cosh", "count_nonzero", "cumprod",
    "cumsum", "cumulative_logsumexp", "digamma", "divide", "divide_no_nan", "equal", "erf", "erfc",
    "erfinv", "exp", "expm1", "floor", "floordiv", "floormod", "greater", "greater_equal", "imag", "in_top_k",
    "is_finite", "is_inf", "is_nan", "l2_normalize", "less", "less_equal", "lgamma", "log", "log1p",
    "log_sigmoid", "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum",
    "minimum", "mod", "multiply", "multiply_no_nan", "ndtri", "negative", "nextafter", "not_equal",
    "polyval", "pow", "real", "reciprocal", "reduce_all", "reduce_any", "reduce_euclidean_norm",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std",
    "reduce_sum", "reduce_variance", "rint", "round", "rsqrt", "scalar_mul", "segment_max",
    "segment_mean", "segment_min", "segment_sum", "sigmoid", "sign", "sin", "sinh", "softmax",
    "softplus", "softsign", "sqrt", "square", "squared_difference", "subtract", "tan", "tanh", "top_k",
    "truediv", "unsorted_segment_max", "unsorted_segment_mean",
    "unsorted_segment_min", "unsorted_segment_sum", "xlog1py", "xlogy", "zero_fraction",
]


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.math.{name}", __all__)
