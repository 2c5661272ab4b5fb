"""Functions of elements that are no operators: casts, rounding, trigonometry, running sums."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import plimsoll as pm

from . import _dtypes
from ._convert import numpy_of, tensor
from ._dispatch import ints, op, static_value
from ._dtypes import as_dtype
from ._errors import InvalidArgumentError, unsupported
from ._operators import FLOATS, RAW, matmul, mismatch, pair, truncated_rest, unary


def _cast_host(x: Any, dtype: Any) -> Any:
    want = as_dtype(dtype)
    if x.dtype == object or want is _dtypes.string:
        if x.dtype == object and want is _dtypes.string:
            return x
        from ._errors import UnimplementedError

        raise UnimplementedError(None, None, f"Cast {as_dtype(x.dtype).name} to {want.name} is not supported")
    return tensor(x.astype(want.as_numpy_dtype), want)


@op(name="cast", host=_cast_host)
def cast(x: Any, dtype: Any) -> Any:
    want = as_dtype(dtype)
    if not isinstance(x, RAW):
        x = tensor(x)
        if isinstance(x, np.ndarray):
            return _cast_host(x, want)
    if want.pm is None:
        return numpy_of(x).astype(want.as_numpy_dtype)
    if want is _dtypes.string:
        return _cast_host(np.array([], dtype=np.float32), want)
    if x.dtype == want.pm:
        return x
    if x.dtype in FLOATS and want.is_unsigned and isinstance(x, pm.Tensor):
        return pm.cast(pm.cast(x, pm.i32), want.pm) if want.size < 4 else pm.cast(x, want.pm)
    if x.dtype in _WHOLE and want.pm in _WHOLE and want.size < _SIZES[x.dtype]:
        return _narrowed(x, want)
    return pm.cast(x, want.pm)


_WHOLE = (pm.i64, pm.i32, pm.i16, pm.i8, pm.u16, pm.u8)
_SIZES = {pm.i64: 8, pm.i32: 4, pm.i16: 2, pm.u16: 2, pm.i8: 1, pm.u8: 1}


def _narrowed(x: Any, want: Any) -> Any:
    """Integers that do not fit wrap around, as TensorFlow's do; the library's casts saturate."""
    if isinstance(x, pm.Tensor) and not x.is_symbolic and x.device.kind == "cpu":
        return pm.tensor(np.asarray(numpy_of(x).astype(want.as_numpy_dtype), order="C"))
    span = 1 << (8 * want.size)
    wide = pm.cast(x, pm.i64)
    shifted = wide - int(want.min)
    quotient = pm.div(shifted, pm.full((), span, dtype=pm.i64))
    rest = shifted - quotient * span
    rest = pm.where(rest < 0, rest + span, rest)
    return pm.cast(rest + int(want.min), want.pm)


@op(name="saturate_cast")
def saturate_cast(value: Any, dtype: Any) -> Any:
    return pm.cast(tensor(value), as_dtype(dtype).pm)


@op(name="add_n")
def add_n(inputs: Any) -> Any:
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    if not inputs:
        raise ValueError("Inputs must be an iterable of at least one Tensor with the same dtype and shape.")
    parts = [tensor(each) for each in inputs]
    total = parts[0]
    for each in parts[1:]:
        if each.dtype != total.dtype:
            raise mismatch("AddN", total, each)
        if tuple(each.shape) != tuple(total.shape):
            raise InvalidArgumentError(
                None, None, f"Inputs to operation AddN must have the same size and shape.  Input 0: "
                f"{list(total.shape)} != input 1: {list(each.shape)} [Op:AddN]",
            )
        total = total + each
    return total


accumulate_n = add_n


def _rounded(x: Any) -> Any:
    return pm.round(x) if x.dtype in FLOATS else x


def _ceil(x: Any) -> Any:
    return -pm.floor(-x)


round = unary("round", _rounded, pm.bool_, whole=True)
rint = unary("math.rint", lambda x: pm.round(x))
floor = unary("floor", lambda x: pm.floor(x))
ceil = unary("math.ceil", _ceil)
log = unary("math.log", lambda x: pm.log(x))
log1p = unary("math.log1p", lambda x: pm.log1p(x))
rsqrt = unary("math.rsqrt", lambda x: pm.rsqrt(x))
reciprocal = unary("math.reciprocal", lambda x: pm.reciprocal(x) if isinstance(x, pm.Tensor) else 1 / x)
sin = unary("sin", lambda x: pm.sin(x))
cos = unary("cos", lambda x: pm.cos(x))
tan = unary("tan", lambda x: pm.sin(x) / pm.cos(x))
tanh = unary("tanh", lambda x: pm.tanh(x))
sigmoid = unary("sigmoid", lambda x: pm.sigmoid(x) if isinstance(x, pm.Tensor) else 1 / (1 + pm.exp(-x)))
erf = unary("math.erf", lambda x: pm.erf(x))
erfc = unary("math.erfc", lambda x: 1 - pm.erf(x))
softplus = unary("math.softplus", lambda x: pm.softplus(x))
log_sigmoid = unary("math.log_sigmoid", lambda x: -pm.softplus(-x))
is_finite = unary("math.is_finite", lambda x: pm.is_finite(x))
is_nan = unary("math.is_nan", lambda x: _need_floats(x) != x)


def _need_floats(x: Any) -> Any:
    if x.dtype not in FLOATS:
        raise InvalidArgumentError(None, None, f"it takes floating values, not {as_dtype(x.dtype).name}")
    return x


def _infinite(x: Any) -> Any:
    return pm.logical_and(pm.logical_not(pm.is_finite(x)), x == x)


is_inf = unary("math.is_inf", _infinite)
softsign = unary("nn.softsign", lambda x: x / (1 + pm.abs(x)))


@op(name="math.divide_no_nan")
def divide_no_nan(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "DivNoNan", numbers=False)
    none = b == 0
    return pm.where(none, 0, a / pm.where(none, 1, b))


@op(name="math.multiply_no_nan")
def multiply_no_nan(x: Any, y: Any) -> Any:
    a = tensor(x)
    b = tensor(y, as_dtype(a.dtype))
    return pm.where(b == 0, 0, pm.where(b == 0, 0, a) * b)


@op(name="math.xlogy")
def xlogy(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "Xlogy", numbers=False)
    none = a == 0
    return pm.where(none, 0, a * pm.log(pm.where(none, 1, b)))


@op(name="math.xlog1py")
def xlog1py(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "Xlog1py", numbers=False)
    none = a == 0
    return pm.where(none, 0, a * pm.log1p(pm.where(none, 0, b)))


@op(name="math.squared_difference")
def squared_difference(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "SquaredDifference", numbers=False)
    if a.dtype not in (*FLOATS, pm.i32, pm.i64):
        raise InvalidArgumentError(None, None, f"it has no kernel for {as_dtype(a.dtype).name} [Op:SquaredDifference]")
    difference = a - b
    return difference * difference


@op(name="math.truncatediv")
def truncatediv(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "TruncateDiv", numbers=False)
    return pm.div(a, b)


@op(name="math.truncatemod")
def truncatemod(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "TruncateMod", numbers=False)
    return truncated_rest(a, b) if a.dtype in FLOATS else a - pm.div(a, b) * b


@op(name="realdiv")
def realdiv(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "RealDiv", numbers=False)
    _need_floats(a)
    return a / b


@op(name="math.scalar_mul")
def scalar_mul(scalar: Any, x: Any) -> Any:
    a, b = pair(scalar, x, "Mul")
    dims: Any = a.shape if isinstance(a, RAW) else ()
    if len(dims):
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {tuple(dims)}.")
    return a * b


@op(name="clip_by_value")
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    x = tensor(t)
    numbers = all(isinstance(each, (int, float)) for each in (clip_value_min, clip_value_max))
    if numbers and x.dtype in FLOATS and clip_value_min <= clip_value_max:
        return pm.clip(x, clip_value_min, clip_value_max)
    low, high = (tensor(each, like=x) for each in (clip_value_min, clip_value_max))
    for each in (low, high):
        if each.dtype != x.dtype:
            raise mismatch("ClipByValue", x, each)
    return pm.maximum(pm.minimum(x, high), low)


def _running(x: Any, axis: int, exclusive: bool, reverse: bool, join: Any, neutral: float) -> Any:
    """All elements up to each, joined in log2(n) steps."""
    count = x.shape[axis]
    if reverse:
        x = pm.flip(x, axis)
    front, back = [0] * x.ndim, [0] * x.ndim
    if exclusive and count:
        front[axis], back[axis] = 1, -1
        x = pm.pad(x, front, back, neutral)
    step = 1
    while step < count:
        front[axis], back[axis] = step, -step
        x = join(x, pm.pad(x, front, back, neutral))
        step *= 2
    return pm.flip(x, axis) if reverse else x


def _axis(axis: Any, rank: int) -> int:
    found = int(static_value(axis))
    if not -rank <= found < rank:
        raise InvalidArgumentError(
            None, None, f"Expected dimension in the range [{-rank}, {rank}), but got {found}"
        )
    return found % rank


@op(name="cumsum")
def cumsum(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    value = tensor(x)
    return pm.cumsum(value, _axis(axis, value.ndim), exclusive=exclusive, reverse=reverse)


@op(name="math.cumprod")
def cumprod(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    value = tensor(x)
    return pm.cumprod(value, _axis(axis, value.ndim), exclusive=exclusive, reverse=reverse)


@op(name="math.cumulative_logsumexp")
def cumulative_logsumexp(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    value = tensor(x)

    def join(a: Any, b: Any) -> Any:
        most = pm.stop_gradient(pm.maximum(a, b))
        safe = pm.where(pm.is_finite(most), most, 0)
        return safe + pm.log(pm.exp(a - safe) + pm.exp(b - safe))

    return _running(value, _axis(axis, value.ndim), exclusive, reverse, join, float(np.finfo(np.float32).min))


@op(name="argmax")
def argmax(input: Any, axis: Any = None, output_type: Any = _dtypes.int64) -> Any:
    value = tensor(input)
    found = pm.argmax(_ordered(value), _axis(0 if axis is None else axis, max(len(value.shape), 1)))
    return pm.cast(found, as_dtype(output_type).pm or pm.i64)


@op(name="argmin")
def argmin(input: Any, axis: Any = None, output_type: Any = _dtypes.int64) -> Any:
    value = tensor(input)
    found = pm.argmax(-_ordered(value), _axis(0 if axis is None else axis, max(len(value.shape), 1)))
    return pm.cast(found, as_dtype(output_type).pm or pm.i64)


def _ordered(value: Any) -> Any:
    """Something that has an order and a negative."""
    if value.dtype in (pm.bool_, pm.u8, pm.u16, pm.i8, pm.i16):
        return pm.cast(value, pm.i32)
    return value


@op(name="einsum")
def einsum(equation: str, *inputs: Any, optimize: str = "greedy") -> Any:
    first = tensor(inputs[0])
    operands = [first, *(tensor(each, like=first) for each in inputs[1:])]
    for each in operands[1:]:
        if each.dtype != first.dtype:
            raise mismatch("Einsum", first, each)
    return pm.einsum(equation, *operands)


@op(name="tensordot")
def tensordot(a: Any, b: Any, axes: Any) -> Any:
    x, y = pair(a, b, "MatMul", numbers=False)
    wanted = static_value(axes)
    if isinstance(wanted, list):
        first, second = (each if isinstance(each, list) else [each] for each in wanted)
    else:
        first = list(builtins.range(x.ndim - wanted, x.ndim))
        second = list(builtins.range(wanted))
    first, second = [each % x.ndim for each in first], [each % y.ndim for each in second]
    kept_x = [i for i in builtins.range(x.ndim) if i not in first]
    kept_y = [i for i in builtins.range(y.ndim) if i not in second]
    if [x.shape[i] for i in first] != [y.shape[i] for i in second]:
        raise InvalidArgumentError(
            None, None, f"Matrix size-incompatible: {list(x.shape)}, {list(y.shape)} over axes {axes}"
        )
    joined = 1
    for i in first:
        joined *= x.shape[i]
    left = pm.reshape(pm.transpose(x, kept_x + first), [-1 if kept_x else 1, joined])
    right = pm.reshape(pm.transpose(y, second + kept_y), [joined, -1 if kept_y else 1])
    product = matmul(left, right)
    return pm.reshape(product, [x.shape[i] for i in kept_x] + [y.shape[i] for i in kept_y])


@op(name="math.polyval")
def polyval(coeffs: Any, x: Any) -> Any:
    value = tensor(x)
    if not coeffs:
        return pm.zeros_like(value)
    total = tensor(coeffs[0], like=value)
    for each in coeffs[1:]:
        total = total * value + tensor(each, like=value)
    return total


@op(name="math.bincount")
def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None,
    dtype: Any = _dtypes.int32, axis: Any = None, binary_output: bool = False,
) -> Any:
    if axis is not None or binary_output:
        unsupported("tf.math.bincount", "axis or binary_output", "tf.reduce_sum(tf.one_hot(x, n), axis)")
    values = numpy_of(arr).reshape(-1)
    if maxlength is not None:
        kept = values < int(static_value(maxlength))
        values, weights = values[kept], weights if weights is None else numpy_of(weights).reshape(-1)[kept]
    given = None if weights is None else np.asarray(numpy_of(weights)).reshape(-1)
    made = np.bincount(values, given, int(static_value(minlength) or 0))
    kind = as_dtype(dtype).as_numpy_dtype if given is None else given.dtype
    return pm.tensor(np.asarray(made.astype(kind), order="C"))


@op(name="math.confusion_matrix")
def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None,
    dtype: Any = _dtypes.int32,
) -> Any:
    a, b = numpy_of(labels).astype(np.int64), numpy_of(predictions).astype(np.int64)
    count = int(static_value(num_classes)) if num_classes is not None else int(max(a.max(), b.max())) + 1
    made = np.zeros((count, count), dtype=as_dtype(dtype).as_numpy_dtype)
    np.add.at(made, (a, b), 1 if weights is None else numpy_of(weights))
    return pm.tensor(made)


@op(name="math.top_k")
def top_k(input: Any, k: Any = 1, sorted: bool = True, index_type: Any = _dtypes.int32) -> Any:
    from ._results import TopKV2

    value = tensor(input)
    count = int(static_value(k))
    if not value.ndim or count > value.shape[-1]:
        raise InvalidArgumentError(
            None, None, f"input must have at least k columns. Had {list(value.shape)[-1:]}, needed {count}"
        )
    wide = value if value.dtype in FLOATS else pm.cast(value, pm.f64)
    if count == 0:
        shape = [*value.shape[:-1], 0]
        return TopKV2(pm.zeros(shape, dtype=value.dtype), pm.zeros(shape, dtype=pm.i32))
    values, indices = pm.top_k(wide, count)
    return TopKV2(pm.cast(values, value.dtype), pm.cast(indices, as_dtype(index_type).pm or pm.i32))


@op(name="math.in_top_k")
def in_top_k(targets: Any, predictions: Any, k: Any) -> Any:
    scores, wanted = tensor(predictions), tensor(targets)
    own = pm.sum(pm.one_hot(wanted, scores.shape[-1], scores.dtype) * scores, axis=-1, keepdims=True)
    better = pm.sum(pm.cast(scores > own, pm.i32), axis=-1)
    return better < int(static_value(k))


@op(name="math.nextafter")
def nextafter(x1: Any, x2: Any) -> Any:
    return pm.tensor(np.nextafter(numpy_of(x1), numpy_of(x2)))


@op(name="math.l2_normalize")
def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, dim: Any = None) -> Any:
    value = tensor(x)
    along = axis if dim is None else dim
    axes = None if along is None else ints(along)
    total = pm.sum(pm.square(value), axis=axes, keepdims=True)
    return value * pm.rsqrt(pm.maximum(total, epsilon))


@op(name="math.zero_fraction")
def zero_fraction(value: Any) -> Any:
    return pm.mean(pm.cast(tensor(value) == 0, pm.f32))
