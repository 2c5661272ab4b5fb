"""Between Keras's objects and the engine: raw values, variables, what a call is in the middle of."""

from __future__ import annotations

import inspect
import threading
from typing import Any, Callable, TypeVar, cast

import numpy as np

import plimsoll as pm
from plimsoll import _core

from .. import _dtypes
from .._convert import convert_to_tensor, tensor
from .._dispatch import op as _tf_op, wrap as _wrap
from .._symbolic import Record, records_in
from .._tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

raw = tensor
"""The pm.Tensor of a tf.Tensor, a variable, an array or numbers."""
wrap = _wrap
"""A tf.Tensor of a pm.Tensor."""


def op(f: F) -> F:
    """A function of raw values as one of tf.Tensors: arguments that are annotated as pm.Tensor are
    converted, numbers taking the dtype of the last of them."""
    signature = inspect.signature(f)
    names = [n for n, p in signature.parameters.items() if str(p.annotation).startswith("pm.Tensor")]
    places = [list(signature.parameters).index(name) for name in names]

    def converted(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        for name, place in zip(names, places):
            if place < len(given):
                if given[place] is not None:
                    given[place] = _converted(given[place])
            elif kwargs.get(name) is not None:
                kwargs[name] = _converted(kwargs[name])
        return f(*given, **kwargs)

    converted.__name__ = f.__name__
    converted.__qualname__ = f.__qualname__
    converted.__doc__ = f.__doc__
    converted.__module__ = f.__module__
    return cast(F, _tf_op(converted))


def _converted(value: Any) -> Any:
    if isinstance(value, (pm.Tensor, _core.Symbolic)):
        return value
    found = tensor(value)
    return found.to(pm.f32) if isinstance(found, pm.Tensor) and found.dtype == pm.f64 else found


def convert(value: Any, dtype: Any = None) -> Any:
    """A tf.Tensor of an array, cast to `dtype`."""
    if isinstance(value, Tensor):
        return cast_to(value, dtype) if dtype is not None else value
    if dtype is not None and isinstance(value, np.ndarray):
        wanted = _dtypes.as_dtype(dtype)
        if wanted.is_floating or value.dtype.kind != "f":
            if wanted.name != "bfloat16":
                return convert_to_tensor(value.astype(wanted.as_numpy_dtype))
            return cast_to(convert_to_tensor(value.astype(np.float32)), dtype)
    found = convert_to_tensor(value)
    return cast_to(found, dtype) if dtype is not None else found


@_tf_op
def cast_to(x: Any, dtype: Any) -> Any:
    wanted = _dtypes.as_dtype(dtype).pm
    x = tensor(x)
    return x if wanted is None or x.dtype == wanted else pm.cast(x, wanted)


def name_of_dtype(dtype: Any) -> str:
    policy = getattr(dtype, "compute_dtype", None)  # a mixed precision policy
    return _dtypes.as_dtype(policy or dtype).name


# Variables.


def variable(
    value: Any, *, name: str, trainable: bool = True, dtype: Any = None, constraint: Any = None
) -> Any:
    """A tf.Variable with a first value, made at once, also within a trace."""
    from ._weight import Weight

    with _core._Eager():
        if isinstance(value, np.ndarray) or np.isscalar(value):
            array = np.asarray(value)
            if dtype is not None and name_of_dtype(dtype) != "bfloat16":
                array = array.astype(_dtypes.as_dtype(dtype).as_numpy_dtype, copy=False)
            elif array.dtype == np.float64:
                array = array.astype(np.float32)
            value = array  # copied once, when the variable is made
        elif dtype is not None:
            value = convert(value, dtype)
        return Weight(value, name=name, trainable=trainable, constraint=constraint)


def var(v: Any) -> pm.Variable:
    """The engine's variable of a tf.Variable."""
    found: pm.Variable = v._variable
    return found


def read(v: Any) -> pm.Tensor:
    """Its value now: within a trace, what the step has made of it so far."""
    return var(v).value


def write(v: Any, value: pm.Tensor) -> None:
    own = var(v)
    if value.dtype != own.dtype:
        value = pm.cast(value, own.dtype)
    own.assign(value)


def key_of(v: Any) -> Any:
    """What a variable is known by."""
    return id(v._variable)


def constant(value: float) -> pm.Tensor:
    return pm.full((), value)


# What a call is in the middle of.


class _Calls(threading.local):
    training: bool | None = None
    autocast: str | None = None
    depth: int = 0


calls = _Calls()


def is_symbolic(structure: Any) -> bool:
    """Whether tensors of keras.Input or a v1 graph are among the values."""
    return bool(records_in(structure))


def static_shape(x: Any) -> Any:
    """The shape of a tensor as Keras has it: a tuple with None for what is not known."""
    if isinstance(x, dict):
        return {key: static_shape(each) for key, each in x.items()}
    if isinstance(x, (list, tuple)):
        return [static_shape(each) for each in x]
    if isinstance(x, Tensor) or hasattr(x, "shape"):
        return tuple(None if n is None else int(n) for n in x.shape)
    return ()


def logits_of(y_pred: Any, from_logits: bool, activation: str) -> tuple[Any, bool]:
    """What a softmax or sigmoid was given, if y_pred is its result: losses are computed from that, as
    Keras does it."""
    found = getattr(y_pred, "_keras_logits", None)
    if found is not None and found[0] == activation:
        return found[1], True
    return y_pred, from_logits


def with_logits(result: Any, activation: str, x: Any) -> Any:
    if isinstance(result, Tensor) and not isinstance(result._value, Record):
        result._keras_logits = (activation, x)
    return result


# Names and numbers that Keras keeps.

_names: dict[str, int] = {}
_numbers: dict[str, Any] = {"epsilon": 1e-7, "floatx": "float32"}


def unique_name(base: str) -> str:
    count = _names.get(base, 0)
    _names[base] = count + 1
    return base if count == 0 else f"{base}_{count}"


def reset_names() -> None:
    _names.clear()


def epsilon() -> float:
    found: float = _numbers["epsilon"]
    return found


def set_epsilon(value: float) -> None:
    _numbers["epsilon"] = float(value)


def floatx() -> str:
    found: str = _numbers["floatx"]
    return found


def set_floatx(value: str) -> None:
    if value not in ("float16", "float32", "float64", "bfloat16"):
        raise ValueError(f"Unknown `floatx` value: {value}. Expected float16, bfloat16, float32 or float64")
    _numbers["floatx"] = value
