"""Cases of functions of elements: operators, tf.math, reductions."""

from __future__ import annotations

from typing import Any

from api_cases import Arguments, Case, Draw, Plain


def unary(low: float = -3, high: float = 3, whole: float = 0.1) -> Case:
    """One tensor; a share of them of integers, which many functions refuse."""
    def case(d: Draw) -> Arguments:
        dtype = d.of("int32", "int64") if d.chance(whole) else d.floating()
        return [d.array(d.shape(), dtype, low, high)], {}

    return case


def binary(low: float = -3, high: float = 3, kinds: str = "numeric", least: float | None = None) -> Case:
    """Two tensors that broadcast, or a tensor and a number; now and then of two dtypes."""
    def case(d: Draw) -> Arguments:
        dtype = getattr(d, kinds)()
        shape = d.shape()
        x = d.array(shape, dtype, low, high)
        floor = low if least is None else least
        if d.chance(0.2):
            number = d.whole(1, 3) if "int" in dtype or d.chance(0.5) else round(float(d.floats([], max(floor, 0.5), high)), 2)
            return ([x, number] if d.chance(0.7) else [number, x]), {}
        other = d.of("float32", "int32") if d.chance(0.05) else dtype
        return [x, d.array(d.beside(shape), other, floor, high)], {}

    return case


def positive_second(kinds: str = "numeric") -> Case:
    def case(d: Draw) -> Arguments:
        dtype = getattr(d, kinds)()
        shape = d.full_shape()
        return [d.array(shape, dtype, -9, 9), d.array(d.beside(shape), dtype, 1, 4)], {}

    return case


def powers(d: Draw) -> Arguments:
    dtype = str(d.of("float32", "float64", "int32", "int64"))
    shape = d.full_shape()
    whole = "int" in dtype
    return [d.array(shape, dtype, 1 if not whole else -3, 3), d.array(d.beside(shape), dtype, 0, 3)], {}


def truths(count: int = 2) -> Case:
    def case(d: Draw) -> Arguments:
        shape = d.shape()
        first: Any = d.bools(shape) if not d.chance(0.06) else d.ints(shape)
        return [first, *(d.bools(d.beside(shape)) for _ in range(count - 1))], {}

    return case


def reduction(kinds: str = "numeric", low: float = -3, high: float = 3) -> Case:
    def case(d: Draw) -> Arguments:
        dtype = "bool" if kinds == "bool" else getattr(d, kinds)()
        if kinds == "bool" and d.chance(0.05):
            dtype = "float32"
        shape = d.shape() if kinds != "full" else d.full_shape()
        x = d.array(shape, dtype, low, high)
        kwargs: dict[str, Any] = {}
        if d.chance(0.7) and shape:
            kwargs["axis"] = d.axis(len(shape)) if d.chance(0.7) else [d.axis(len(shape))]
            if d.chance(0.15):
                kwargs["axis"] = list(range(len(shape)))
        if d.chance(0.4):
            kwargs["keepdims"] = d.chance(0.7)
        return [x], kwargs

    return case


def full_reduction(kinds: str = "floating") -> Case:
    def case(d: Draw) -> Arguments:
        shape = d.full_shape(1, 3)
        kwargs: dict[str, Any] = {"axis": d.axis(len(shape))} if d.chance(0.7) else {}
        if d.chance(0.4):
            kwargs["keepdims"] = True
        return [d.array(shape, getattr(d, kinds)())], kwargs

    return case


def cast_case(d: Draw) -> Arguments:
    dtype = d.numeric() if d.chance(0.85) else "bool"
    high = 100 if dtype != "bool" else 1
    target = str(d.of("float32", "float64", "float16", "int32", "int64", "uint8", "bool", "int16"))
    low = 0 if dtype.startswith("u") or target.startswith("u") else -100
    return [d.array(d.shape(), dtype, low, high), Plain(target)], {}


def running(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3, 5)
    kwargs: dict[str, Any] = {"axis": d.axis(len(shape))}
    if d.chance(0.5):
        kwargs["exclusive"] = d.chance(0.5)
        kwargs["reverse"] = d.chance(0.5)
    return [d.array(shape, str(d.of("float32", "float64", "int32", "int64")), -2, 2)], kwargs


def extreme_place(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    kwargs: dict[str, Any] = {"axis": d.axis(len(shape))} if d.chance(0.8) else {}
    if d.chance(0.2):
        kwargs["output_type"] = Plain("int32")
    return [d.array(shape, str(d.of("float32", "float64", "int32", "uint8")), -3, 3)], kwargs


def clip(d: Draw) -> Arguments:
    dtype = str(d.of("float32", "float64", "int32"))
    x = d.array(d.shape(), dtype, -5, 5)
    low = d.whole(-3, 0)
    return [x, low if "int" in dtype else low + 0.5, low + d.whole(1, 4)], {}


def sums_of_tensors(d: Draw) -> Arguments:
    shape, dtype = d.shape(), str(d.of("float32", "int32"))
    parts = [d.array(shape, dtype) for _ in range(d.whole(1, 4))]
    if d.chance(0.05):
        parts.append(d.array([*shape, 2], dtype))
    return [parts], {}


def top(d: Draw) -> Arguments:
    shape = d.full_shape(1, 2, 6)
    return [d.floats(shape), d.whole(0, shape[-1] + (1 if d.chance(0.1) else 0))], {}


def scaled(d: Draw) -> Arguments:
    return [round(float(d.floats([])), 3), d.floats(d.shape())], {}


_OPERATORS = {
    "add": binary(), "sub": binary(), "mul": binary(), "truediv": positive_second(), "floordiv": positive_second(),
    "mod": positive_second(), "pow": powers, "neg": unary(whole=0.4), "abs": unary(whole=0.4), "lt": binary(),
    "le": binary(), "gt": binary(), "ge": binary(), "eq": binary(), "ne": binary(), "and_": truths(),
    "or_": truths(), "xor": truths(), "invert": truths(1),
}

CASES: dict[str, Case] = {
    **{f"op {name}": case for name, case in _OPERATORS.items()},
    "add": binary(), "subtract": binary(), "multiply": binary(), "divide": positive_second(),
    "truediv": positive_second(), "math.floordiv": positive_second(), "math.floormod": positive_second(),
    "maximum": binary(), "minimum": binary(), "pow": powers, "equal": binary(), "not_equal": binary(),
    "less": binary(), "less_equal": binary(), "greater": binary(), "greater_equal": binary(),
    "logical_and": truths(), "logical_or": truths(), "math.logical_xor": truths(), "logical_not": truths(1),
    "negative": unary(whole=0.4), "abs": unary(whole=0.4), "sign": unary(whole=0.4), "square": unary(whole=0.4),
    "sqrt": unary(0, 9), "exp": unary(), "round": unary(whole=0.3), "floor": unary(), "math.ceil": unary(),
    "math.log": unary(0.1, 9), "math.log1p": unary(-0.9, 9), "math.expm1": unary(), "math.rsqrt": unary(0.1, 9),
    "math.reciprocal": unary(0.5, 9, 0), "sin": unary(-9, 9), "cos": unary(-9, 9), "tan": unary(-1.2, 1.2),
    "asin": unary(-1, 1), "acos": unary(-1, 1), "atan": unary(-9, 9), "sinh": unary(), "cosh": unary(),
    "tanh": unary(), "asinh": unary(), "acosh": unary(1, 9), "atanh": unary(-0.9, 0.9), "sigmoid": unary(-9, 9),
    "math.erf": unary(), "math.erfc": unary(-2, 2), "math.softplus": unary(), "math.log_sigmoid": unary(-9, 9, 0),
    "math.is_nan": unary(), "math.is_inf": unary(), "math.is_finite": unary(), "math.rint": unary(-9, 9),
    "math.lgamma": unary(0.5, 9), "math.digamma": unary(0.5, 9), "math.erfinv": unary(-0.95, 0.95),
    "math.ndtri": unary(0.05, 0.95, 0), "math.atan2": binary(kinds="floating"),
    "math.divide_no_nan": positive_second("floating"), "math.multiply_no_nan": binary(kinds="floating"),
    "math.xlogy": binary(0.1, 3, "floating"), "math.xlog1py": binary(0.1, 3, "floating"),
    "math.squared_difference": binary(), "math.truncatediv": positive_second("numeric"),
    "cast": cast_case, "cumsum": running, "math.cumprod": running, "argmax": extreme_place,
    "argmin": extreme_place, "clip_by_value": clip, "add_n": sums_of_tensors, "math.top_k": top,
    "math.scalar_mul": scaled, "reduce_sum": reduction(), "reduce_mean": reduction(), "reduce_max": reduction(),
    "reduce_min": reduction(), "reduce_prod": reduction(low=-2, high=2), "reduce_all": reduction("bool"),
    "reduce_any": reduction("bool"), "math.reduce_std": full_reduction(), "math.reduce_variance": full_reduction(),
    "reduce_logsumexp": full_reduction(), "math.reduce_euclidean_norm": full_reduction(),
    "norm": full_reduction(), "math.count_nonzero": reduction(), "math.zero_fraction": unary(whole=0.5),
}
