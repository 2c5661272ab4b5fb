"""Arithmetic and comparisons of two tensors, by TensorFlow's rules of dtypes."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _dtypes
from ._convert import numpy_of, tensor
from ._dispatch import op
from ._errors import InvalidArgumentError, unsupported

RAW = (pm.Tensor, _core.Symbolic)
FLOATS = (pm.f64, pm.f32, pm.f16, pm.bf16)
_EXACT = 1 << 53
_SHORT = {
    "float32": "float", "float64": "double", "float16": "half",
}


def mismatch(op_name: str, a: Any, b: Any, at: int = 1) -> Exception:
    """The error for tensors of two dtypes."""
    first, second = (_dtypes.BY_PM[each.dtype].name for each in (a, b))
    if _core._tracing():
        return TypeError(
            f"Input 'y' of '{op_name}' Op has type {second} that does not match type {first} of "
            "argument 'x'."
        )
    return InvalidArgumentError(
        None, None,
        f"cannot compute {op_name} as input #{at}(zero-based) was expected to be a "
        f"{_SHORT.get(first, first)} tensor but is a {_SHORT.get(second, second)} tensor "
        f"[Op:{op_name}]; cast one of them with tf.cast",
    )


def _number(value: Any, like: Any) -> Any:
    """A Python number that `like`'s dtype holds, as it is; else None."""
    kind = type(value)
    if kind is int:
        fits = like.dtype in FLOATS or (like.dtype != pm.bool_ and _fits(value, like.dtype))
        return value if fits and -_EXACT < value < _EXACT else None
    if kind is float:
        return value if like.dtype in FLOATS else None
    return None


def _fits(value: int, dtype: pm.DType) -> bool:
    known = _dtypes.BY_PM[dtype]
    return bool(known.min <= value <= known.max)


def together(a: Any, b: Any) -> tuple[Any, Any]:
    """Both on one device: the one that is not the CPU."""
    if isinstance(a, pm.Tensor) and isinstance(b, pm.Tensor) and not (a.is_symbolic or b.is_symbolic):
        if a.device != b.device:
            if a.device.kind == "cpu" or b.size > a.size:
                return a.to(b.device), b
            return a, b.to(a.device)
    return a, b


def pair(a: Any, b: Any, op_name: str, numbers: bool = True, strict: bool = True) -> tuple[Any, Any]:
    """Both sides as raw values of one dtype; one may stay a Python number."""
    if isinstance(a, RAW):
        if not isinstance(b, RAW):
            number = _number(b, a) if numbers else None
            if number is not None:
                return a, number
            b = tensor(b, like=a, strict=strict)
    elif isinstance(b, RAW):
        number = _number(a, b) if numbers else None
        if number is not None:
            return number, b
        a = tensor(a, like=b, strict=strict)
    else:
        a = tensor(a)
        b = tensor(b, like=a, strict=strict) if isinstance(a, RAW) else tensor(b)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        raise InvalidArgumentError(
            None, None, f"{op_name} takes numbers that the library has, not {_name(a)} and {_name(b)}"
        )
    if a.dtype != b.dtype:
        raise mismatch(op_name, a, b)
    return together(a, b)


def _name(value: Any) -> str:
    return _dtypes.as_dtype(value.dtype).name


def _only(value: Any, op_name: str, *refused: Any) -> None:
    for each in value if isinstance(value, tuple) else (value,):
        if getattr(each, "dtype", None) in refused:
            raise InvalidArgumentError(
                None, None, f"Value for attr 'T' of {_name(each)} is not in the list of allowed values "
                f"[Op:{op_name}]",
            )


def _host(f: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The variant for strings and dtypes of NumPy's."""
    def call(a: Any, b: Any) -> Any:
        left, right = _objects(a), _objects(b)
        made = f(left, right)
        return np.asarray(made, dtype=object if made.dtype == object else made.dtype)

    return call


def _objects(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "SU":
        return tensor(value)
    return numpy_of(value) if not isinstance(value, np.ndarray) else value


def _host_add(a: Any, b: Any) -> Any:
    return np.asarray(np.add(a, b), dtype=object if a.dtype == object else None)


@op(name="add", host=_host(_host_add))
def add(x: Any, y: Any) -> Any:
    a, b = pair(x if isinstance(x, RAW) else tensor(x), y, "AddV2", strict=False)
    _only((a, b), "AddV2", pm.bool_)
    return a + b


@op(name="add", host=_host(_host_add))
def _radd(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "AddV2")
    _only((a, b), "AddV2", pm.bool_)
    return a + b


@op(name="subtract", host=_host(np.subtract))
def subtract(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "Sub")
    _only((a, b), "Sub", pm.bool_)
    return a - b


@op(name="multiply", host=_host(np.multiply))
def multiply(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "Mul")
    _only((a, b), "Mul", pm.bool_)
    return a * b


_QUOTIENT = {
    pm.i8: pm.f32, pm.u8: pm.f32, pm.i16: pm.f32, pm.u16: pm.f32, pm.i32: pm.f64, pm.i64: pm.f64,
    pm.bool_: pm.f32,
}


@op(name="truediv", host=_host(np.true_divide))
def truediv(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "RealDiv", numbers=not _is_whole(x, y))
    dtype = a.dtype if isinstance(a, RAW) else b.dtype
    if dtype in _QUOTIENT:
        if dtype == pm.bool_:
            raise TypeError("`x` and `y` must be numbers, not bool [Op:RealDiv]")
        a, b = pm.cast(a, _QUOTIENT[dtype]), pm.cast(b, _QUOTIENT[dtype])
    return a / b


def _is_whole(x: Any, y: Any) -> bool:
    return any(isinstance(each, RAW) and each.dtype not in FLOATS for each in (x, y))


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, as Python divides."""
    if not hasattr(x, "_value") and not hasattr(y, "_value"):
        from ._convert import convert_to_tensor

        x = convert_to_tensor(x)
    return truediv(x, y, name=name)


@op(name="floordiv", host=_host(np.floor_divide))
def floordiv(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "FloorDiv", numbers=not _is_whole(x, y))
    if isinstance(a, RAW) and a.dtype in FLOATS or isinstance(b, RAW) and b.dtype in FLOATS:
        return pm.floor(a / b)
    return _whole_floordiv(a, b)


def _whole_floordiv(a: Any, b: Any) -> Any:
    quotient = pm.div(a, b)
    if a.dtype in (pm.u8, pm.u16):
        return quotient
    rest = a - quotient * b
    away = pm.logical_and(rest != 0, pm.not_equal(rest < 0, b < 0))
    return quotient - pm.cast(away, a.dtype)


@op(name="floormod", host=_host(np.mod))
def floormod(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "FloorMod", numbers=False)
    if a.dtype in FLOATS:
        rest = truncated_rest(a, b)
        wrong = pm.logical_and(pm.not_equal(rest, 0), pm.not_equal(rest < 0, b < 0))
        return pm.where(wrong, rest + b, rest)
    return a - _whole_floordiv(a, b) * b


def truncated_rest(a: Any, b: Any) -> Any:
    """C's fmod, as far as the quotient is exact."""
    quotient = a / b
    towards_zero = pm.where(quotient < 0, -pm.floor(-quotient), pm.floor(quotient))
    return a - towards_zero * b


@op(name="pow", host=_host(np.power))
def pow(x: Any, y: Any) -> Any:
    a, b = pair(x, y, "Pow")
    if isinstance(a, RAW) and not isinstance(b, RAW) and b == 2 and a.dtype in FLOATS:
        return pm.square(a) if isinstance(a, pm.Tensor) else a * a
    if isinstance(a, pm.Tensor) and a.dtype in FLOATS and not isinstance(b, RAW) and b in (3, 4):
        return pm.square(a) * (a if b == 3 else pm.square(a))  # which have second derivatives
    if isinstance(a, RAW) and a.dtype not in FLOATS or isinstance(b, RAW) and b.dtype not in FLOATS:
        return _whole_pow(a, b)
    return a ** b


def _whole_pow(a: Any, b: Any) -> Any:
    """Of integers: by squaring, so that it wraps around as products do."""
    if not isinstance(b, RAW) or (isinstance(b, pm.Tensor) and not b.is_symbolic):
        powers = np.asarray(b) if not isinstance(b, RAW) else numpy_of(b)
        if powers.size and powers.min() < 0:
            raise InvalidArgumentError(None, None, "Integers to negative integer powers are not allowed")
    if isinstance(a, pm.Tensor) and type(b) is int:
        result = pm.ones_like(a)
        while b:
            if b & 1:
                result = result * a
            a, b = a * a, b >> 1
        return result
    dtype = a.dtype if isinstance(a, RAW) else b.dtype
    left = np.asarray(a) if not isinstance(a, RAW) else numpy_of(a)
    right = np.asarray(b) if not isinstance(b, RAW) else numpy_of(b)
    known = _dtypes.BY_PM[dtype].as_numpy_dtype
    try:
        np.broadcast_shapes(left.shape, right.shape)
    except ValueError as error:
        raise InvalidArgumentError(None, None, f"Incompatible shapes [Op:Pow]: {error}") from None
    return pm.tensor(np.asarray(np.power(left.astype(known), right.astype(known)), order="C"))


def _either(name: str, op_name: str, f: Callable[[Any, Any], Any], host: Any) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        a, b = pair(x, y, op_name)
        return f(a, b) if isinstance(a, RAW) else f(tensor(a, like=b), b)

    call.__name__ = name
    return op(name=name, host=_host(host))(call)


def _limits(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(a: Any, b: Any) -> Any:
        if isinstance(a, RAW) and a.dtype == pm.bool_:
            _only(a, "Maximum", pm.bool_)
        return f(a, b)

    return call


maximum = _either("maximum", "Maximum", _limits(lambda a, b: pm.maximum(a, b)), np.maximum)
minimum = _either("minimum", "Minimum", _limits(lambda a, b: pm.minimum(a, b)), np.minimum)
_compare_equal = _either("equal", "Equal", lambda a, b: a == b, lambda a, b: np.equal(a, b).astype(bool))
_compare_differs = _either(
    "not_equal", "NotEqual", lambda a, b: a != b, lambda a, b: np.not_equal(a, b).astype(bool)
)
less = _either("less", "Less", lambda a, b: a < b, np.less)
less_equal = _either("less_equal", "LessEqual", lambda a, b: a <= b, np.less_equal)
greater = _either("greater", "Greater", lambda a, b: a > b, np.greater)
greater_equal = _either("greater_equal", "GreaterEqual", lambda a, b: a >= b, np.greater_equal)


def equal(x: Any, y: Any, name: str | None = None) -> Any:
    """x == y, element by element."""
    return _compare_equal(x, y, name=name)


def not_equal(x: Any, y: Any, name: str | None = None) -> Any:
    """x != y, element by element."""
    return _compare_differs(x, y, name=name)


def _equals(x: Any, y: Any) -> Any:
    if y is None or x is None:
        return False
    try:
        return _compare_equal(x, y)
    except InvalidArgumentError as error:
        if "broadcast" in str(error) or "shape" in str(error):
            return _all_false(x)
        raise


def _differs(x: Any, y: Any) -> Any:
    if y is None or x is None:
        return True
    try:
        return _compare_differs(x, y)
    except InvalidArgumentError as error:
        if "broadcast" in str(error) or "shape" in str(error):
            return logical_not(_all_false(x))
        raise


def _all_false(_: Any) -> Any:
    from ._convert import convert_to_tensor

    return convert_to_tensor(False)


def _truths(x: Any, y: Any, op_name: str) -> tuple[Any, Any]:
    a, b = pair(x, y, op_name, numbers=False)
    if a.dtype != pm.bool_:
        raise InvalidArgumentError(
            None, None, f"cannot compute {op_name} as input #0(zero-based) was expected to be a bool "
            f"tensor but is a {_name(a)} tensor [Op:{op_name}]",
        )
    return a, b


@op(name="math.logical_and")
def logical_and(x: Any, y: Any) -> Any:
    return pm.logical_and(*_truths(x, y, "LogicalAnd"))


@op(name="math.logical_or")
def logical_or(x: Any, y: Any) -> Any:
    return pm.logical_or(*_truths(x, y, "LogicalOr"))


@op(name="math.logical_xor")
def logical_xor(x: Any, y: Any) -> Any:
    a, b = _truths(x, y, "LogicalXor")
    return pm.logical_and(pm.logical_or(a, b), pm.logical_not(pm.logical_and(a, b)))


@op(name="math.logical_not")
def logical_not(x: Any) -> Any:
    value = tensor(x)
    if value.dtype != pm.bool_:
        raise InvalidArgumentError(
            None, None, "cannot compute LogicalNot as input #0(zero-based) was expected to be a bool "
            f"tensor but is a {_name(value)} tensor [Op:LogicalNot]",
        )
    return pm.logical_not(value)


def bits(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the bits of integers: the host's, where values are known."""
    def call(*operands: Any) -> Any:
        first = tensor(operands[0])
        others = [tensor(each, like=first) for each in operands[1:]]
        for each in others:
            if each.dtype != first.dtype:
                raise mismatch(name, first, each)
        if first.dtype in FLOATS or first.dtype == pm.bool_:
            raise InvalidArgumentError(None, None, f"{name} takes integers, not {_name(first)}")
        found = f(*(numpy_of(each) for each in (first, *others)))
        return tensor(np.asarray(found), _dtypes.as_dtype(first.dtype))

    call.__name__ = name
    return op(name=f"bitwise.{name}")(call)


bitwise_and = bits("bitwise_and", np.bitwise_and)
bitwise_or = bits("bitwise_or", np.bitwise_or)
bitwise_xor = bits("bitwise_xor", np.bitwise_xor)
bitwise_invert = bits("invert", np.invert)


def _is_bool(x: Any) -> bool:
    return isinstance(x, bool) or getattr(x, "dtype", None) in (_dtypes.bool_, np.bool_)


def _and(x: Any, y: Any) -> Any:
    return logical_and(x, y) if _is_bool(x) or _is_bool(y) else bitwise_and(x, y)


def _or(x: Any, y: Any) -> Any:
    return logical_or(x, y) if _is_bool(x) or _is_bool(y) else bitwise_or(x, y)


def _xor(x: Any, y: Any) -> Any:
    return logical_xor(x, y) if _is_bool(x) or _is_bool(y) else bitwise_xor(x, y)


def _invert(x: Any) -> Any:
    return logical_not(x) if _is_bool(x) else bitwise_invert(x)


@op(name="negative", host=lambda x: np.negative(x))
def negative(x: Any) -> Any:
    value = tensor(x)
    _only(value, "Neg", pm.bool_, pm.u8, pm.u16)
    return -value


@op(name="abs", host=lambda x: np.abs(x))
def abs(x: Any) -> Any:
    value = tensor(x)
    _only(value, "Abs", pm.bool_, pm.u8, pm.u16)
    return pm.abs(value)


def unary(name: str, f: Callable[[Any], Any], *refused: Any, whole: bool = False) -> Callable[..., Any]:
    """A tf function of one tensor: of floating values, and if `whole` of integers, too."""
    op_name = name.rsplit(".", 1)[-1].title().replace("_", "")

    def call(x: Any) -> Any:
        value = tensor(x)
        _only(value, op_name, *refused)
        if isinstance(value, np.ndarray):
            unsupported(f"tf.{name} of {_name(value)}")
        if not whole and value.dtype not in FLOATS:
            _only(value, op_name, value.dtype)
        return f(value)

    call.__name__ = name.rsplit(".", 1)[-1]
    return op(name=name)(call)


sign = unary("sign", lambda x: pm.sign(x), pm.bool_, pm.u8, pm.u16, whole=True)
square = unary("square", lambda x: pm.square(x) if isinstance(x, pm.Tensor) else x * x, pm.bool_, whole=True)
sqrt = unary("sqrt", lambda x: pm.sqrt(x))
exp = unary("exp", lambda x: pm.exp(x))


@op(name="matmul")
def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
    adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False,
    output_type: Any = None, grad_a: bool = False, grad_b: bool = False,
) -> Any:
    if transpose_a and adjoint_a or transpose_b and adjoint_b:
        raise ValueError("Only one of `transpose_a` and `adjoint_a` can be True.")
    if output_type is not None:
        unsupported("tf.matmul", "output_type", "tf.cast the result")
    x, y = pair(a, b, "MatMul", numbers=False)
    if len(x.shape) < 2 or len(y.shape) < 2:
        raise InvalidArgumentError(
            None, None, f"In[0] and In[1] has different ndims, or fewer than 2: {list(x.shape)} vs. "
            f"{list(y.shape)} [Op:MatMul]",
        )
    flip_a, flip_b = bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b)
    if isinstance(x, _core.Symbolic) and not flip_a and not flip_b:
        return pm.matmul(x, y)
    if x.dtype not in FLOATS:
        return _whole_matmul(x, y, flip_a, flip_b)
    if not isinstance(x, _core.Symbolic) and x.shape[-2 if flip_a else -1] != y.shape[-1 if flip_b else -2]:
        raise InvalidArgumentError(
            None, None, f"Matrix size-incompatible: In[0]: {list(x.shape)}, In[1]: {list(y.shape)} [Op:MatMul]")
    return pm.matmul(x, y, transpose_a=flip_a, transpose_b=flip_b)


def _whole_matmul(x: Any, y: Any, flip_a: bool, flip_b: bool) -> Any:
    """Of integers: sums of products."""
    if x.dtype not in (pm.i32, pm.i64):
        raise InvalidArgumentError(None, None, f"MatMul has no kernel for {_name(x)} [Op:MatMul]")
    left, right = (
        pm.transpose(each, [*range(each.ndim - 2), each.ndim - 1, each.ndim - 2]) if flip else each
        for each, flip in ((x, flip_a), (y, flip_b))
    )
    if left.shape[-1] != right.shape[-2]:
        raise InvalidArgumentError(
            None, None, f"Matrix size-incompatible: In[0]: {list(left.shape)}, In[1]: "
            f"{list(right.shape)} [Op:MatMul]",
        )
    wide = pm.reshape(left, [*left.shape, 1]) * pm.reshape(right, [*right.shape[:-2], 1, *right.shape[-2:]])
    return pm.cast(pm.sum(wide, axis=-2), x.dtype)
