"""tf.debugging: checks of values that are known, and a log of where ops run."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np

from . import _names, _state
from ._control import Assert
from ._convert import convert_to_tensor
from ._dtypes import as_dtype
from ._errors import InvalidArgumentError, unsupported
from ._math import is_finite

__all__ = [
    "Assert", "assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal",
    "assert_integer", "assert_less", "assert_less_equal", "assert_near", "assert_negative",
    "assert_non_negative", "assert_non_positive", "assert_none_equal", "assert_positive", "assert_rank",
    "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype", "assert_scalar", "assert_shapes",
    "assert_type", "check_numerics", "get_log_device_placement", "is_numeric_tensor",
    "set_log_device_placement",
]


def set_log_device_placement(enabled: bool) -> None:
    """From now on one line for each op: its name, its device, what it gives and the bytes of that."""
    _state.log_placement[0] = bool(enabled)


def get_log_device_placement() -> bool:
    return _state.log_placement[0]


def _values(who: str, *tensors: Any) -> list[Any]:
    made = []
    like = None
    for each in tensors:
        found = convert_to_tensor(each, dtype_hint=like)
        like = found.dtype
        if not found.is_concrete:
            unsupported(f"tf.debugging.{who} in a function that is traced", way="check values outside of the function")
        made.append(np.asarray(found.numpy()))
    return made


def _comparison(name: str, holds: Callable[[Any, Any], Any], symbol: str) -> Callable[..., Any]:
    def check(x: Any, y: Any, message: str | None = None, summarize: Any = None, name: str | None = None) -> None:
        a, b = _values(check.__name__, x, y)
        if not np.all(holds(a, b)):
            raise InvalidArgumentError(None, None, f"{message or ''} Condition x {symbol} y did not hold. x: {a}, y: {b}")

    check.__name__ = name
    return check


assert_equal = _comparison("assert_equal", lambda a, b: a == b, "==")
assert_none_equal = _comparison("assert_none_equal", lambda a, b: a != b, "!=")
assert_less = _comparison("assert_less", lambda a, b: a < b, "<")
assert_less_equal = _comparison("assert_less_equal", lambda a, b: a <= b, "<=")
assert_greater = _comparison("assert_greater", lambda a, b: a > b, ">")
assert_greater_equal = _comparison("assert_greater_equal", lambda a, b: a >= b, ">=")


def assert_near(x: Any, y: Any, rtol: Any = None, atol: Any = None, message: str | None = None, summarize: Any = None, name: str | None = None) -> None:
    a, b = _values("assert_near", x, y)
    least = 10 * float(np.finfo(a.dtype).eps)
    if not np.all(np.abs(a - b) <= (least if atol is None else atol) + (least if rtol is None else rtol) * np.abs(b)):
        raise InvalidArgumentError(None, None, f"{message or ''} x and y not equal to tolerance: {a}, {b}")


def _sign(name: str, holds: Callable[[Any], Any]) -> Callable[..., Any]:
    def check(x: Any, message: str | None = None, summarize: Any = None, name: str | None = None) -> None:
        (a,) = _values(check.__name__, x)
        if not np.all(holds(a)):
            raise InvalidArgumentError(None, None, f"{message or ''} {check.__name__} did not hold: {a}")

    check.__name__ = name
    return check


assert_positive = _sign("assert_positive", lambda a: a > 0)
assert_negative = _sign("assert_negative", lambda a: a < 0)
assert_non_negative = _sign("assert_non_negative", lambda a: a >= 0)
assert_non_positive = _sign("assert_non_positive", lambda a: a <= 0)


def assert_rank(x: Any, rank: int, message: str | None = None, name: str | None = None) -> None:
    if convert_to_tensor(x).shape.rank != int(rank):
        raise ValueError(f"{message or ''} Tensor must have rank {rank}, not {convert_to_tensor(x).shape.rank}")


def assert_rank_at_least(x: Any, rank: int, message: str | None = None, name: str | None = None) -> None:
    if convert_to_tensor(x).ndim < int(rank):
        raise ValueError(f"{message or ''} Tensor must have rank at least {rank}")


def assert_rank_in(x: Any, ranks: Any, message: str | None = None, name: str | None = None) -> None:
    if convert_to_tensor(x).ndim not in [int(each) for each in ranks]:
        raise ValueError(f"{message or ''} Tensor must have a rank in {ranks}")


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> Any:
    assert_rank(tensor, 0, message)
    return tensor


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> None:
    if convert_to_tensor(tensor).dtype != as_dtype(tf_type):
        raise TypeError(f"{message or ''} tensor must be of type {as_dtype(tf_type)!r}; got {convert_to_tensor(tensor).dtype!r}")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    if not convert_to_tensor(x).dtype.is_integer:
        raise TypeError(f"{message or ''} Expected 'x' to be integer type.  Found: {convert_to_tensor(x).dtype!r}")


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    kinds = {each.dtype for each in tensors or []} | ({as_dtype(dtype)} if dtype else set())
    if len(kinds) > 1 or any(not each.is_floating for each in kinds):
        raise ValueError(f"Expected floating point type of one kind, got {sorted(each.name for each in kinds)}.")
    return next(iter(kinds)) if kinds else as_dtype("float32")


def assert_shapes(shapes: Any, data: Any = None, summarize: Any = None, message: str | None = None, name: str | None = None) -> None:
    known: dict[Any, int] = {}
    for tensor, wanted in shapes.items() if isinstance(shapes, dict) else shapes:
        found = convert_to_tensor(tensor).shape
        if found.rank != len(wanted):
            raise ValueError(f"{message or ''} Tensor of shape {found} must have rank {len(wanted)}")
        for extent, each in zip(found, wanted):
            expected = known.setdefault(each, extent or 0) if isinstance(each, str) else each
            if expected is not None and extent is not None and extent != expected:
                raise ValueError(f"{message or ''} Specified by tensor of shape {found}: dimension {each} must be {expected}")


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """The tensor itself; an error if it has NaN or infinity."""
    made = convert_to_tensor(tensor)
    if made.is_concrete and not np.all(is_finite(made).numpy()):
        raise InvalidArgumentError(None, None, f"{message} : Tensor had NaN or Inf values")
    if not made.is_concrete:
        unsupported("tf.debugging.check_numerics in a function that is traced", way="fit() stops at a loss that is not finite")
    return made


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Any:
    return check_numerics(x, message)


def is_numeric_tensor(tensor: Any) -> bool:
    return hasattr(tensor, "_value") and tensor.dtype.is_numeric


def disable_traceback_filtering() -> None:
    """Errors show the frames of this package too."""
    os.environ["PLIMSOLL_FULL_TRACEBACK"] = "1"


def enable_traceback_filtering() -> None:
    os.environ["PLIMSOLL_FULL_TRACEBACK"] = "0"


def is_traceback_filtering_enabled() -> bool:
    return os.environ.get("PLIMSOLL_FULL_TRACEBACK", "0") in ("", "0")


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.debugging.{name}", __all__)
