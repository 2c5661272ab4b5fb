"""How every tf function is written: once, as a function of raw values, under @op.

The dispatcher looks at the arguments. Symbolic tensors: the call is recorded. Values of Dataset.map:
the `program` variant, or the function itself on pm's Symbolic. Otherwise the function runs now, or
into the trace in force, on pm.Tensors; integers that are known while something is traced stay known.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import Any, Callable, overload

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _state
from ._config import devices, placed
from ._dtypes import DType
from ._errors import InvalidArgumentError, OpError
from ._shape import TensorShape
from ._state import recording, state
from ._symbolic import Record, record
from ._tensor import Tensor, copied

_PLAIN = (int, float, str, bool, bytes, type(None), DType, TensorShape, np.ndarray, slice)


class _Found:
    """What kinds of tensors the arguments of a call are."""

    __slots__ = ("records", "program", "host", "traced", "values", "variables", "ragged")

    def __init__(self) -> None:
        self.records = self.program = self.host = self.traced = self.ragged = False
        self.values: list[Any] = []
        self.variables: list[pm.Tensor] = []


def raw(value: Any, found: _Found) -> Any:
    """`value` with the raw values of its tensors and variables."""
    if isinstance(value, Tensor):
        inner = value._value
        if isinstance(inner, pm.Tensor):
            found.traced = found.traced or inner.is_symbolic
            found.values.append(inner)
        elif isinstance(inner, Record):
            bound = state.bound.get((inner.node, inner.index)) if state.bound else None
            if bound is not None:
                return raw(bound, found)
            found.records = True
            return value
        elif isinstance(inner, np.ndarray):
            found.host = True
        else:
            found.program = True
        return inner
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple)):
        parts = [raw(each, found) for each in value]
        if all(a is b for a, b in zip(parts, value)):
            return value
        if hasattr(value, "_fields"):
            return type(value)(*parts)
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: raw(each, found) for key, each in value.items()}
    convert = getattr(value, "_as_tensor", None)  # variables
    if convert is not None and not isinstance(value, type):
        found.traced = True
        tensor = raw(convert(), found)
        if isinstance(tensor, pm.Tensor):
            found.variables.append(tensor)
        return tensor
    if hasattr(value, "ragged_rank"):
        found.ragged = True
    return value


def wrap(value: Any) -> Any:
    """tf.Tensors of raw results."""
    if isinstance(value, (pm.Tensor, np.ndarray, _core.Symbolic)):
        return Tensor(value)
    if isinstance(value, pm.Variable):
        return Tensor(value.value)
    if isinstance(value, (list, tuple)):
        parts = [wrap(each) for each in value]
        if hasattr(value, "_fields"):
            return type(value)(*parts)
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: wrap(each) for key, each in value.items()}
    return value


def _together(values: list[pm.Tensor], opened: Any, named: Any) -> tuple[Any, Any]:
    """Arguments on one device, as TensorFlow copies them: that of tf.device or of the trace, else a GPU's."""
    there = [each.device for each in values if not each.is_symbolic]
    if not there:
        return opened, named
    if placed.blocks or _core._tracing():
        target = pm.default_device()
    else:
        target = next((each for each in there if each.kind == "cuda"), there[0])
    if all(each == target for each in there):
        return opened, named
    return _moved(opened, target), _moved(named, target)


def on_one_device(values: list[Any]) -> list[Any]:
    """Arguments of a planned function where there is a GPU: together, as for an op."""
    if not devices.opened.get("GPU"):
        return values
    tensors = [each for each in values if isinstance(each, pm.Tensor)]
    moved: list[Any] = _together(tensors, values, {})[0]
    return moved


def _moved(value: Any, target: pm.Device) -> Any:
    if isinstance(value, pm.Tensor):
        stays = value.is_symbolic or value.dtype == pm.bytes_ or value.device == target
        return value if stays else value.to(target)
    if isinstance(value, (list, tuple)):
        parts = [_moved(each, target) for each in value]
        if hasattr(value, "_fields"):
            return type(value)(*parts)
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: _moved(each, target) for key, each in value.items()}
    return value


def _folds(found: _Found) -> bool:
    """Whether a call in a trace has only known integers, so that its result is known as well."""
    return (
        not found.traced
        and not found.program
        and bool(found.values)
        and all(each.dtype not in _FLOATS for each in found.values)
        and _core._tracing()
    )


_FLOATS = (pm.f64, pm.f32, pm.f16, pm.bf16)


@overload
def op(
    f: Callable[..., Any], *, name: str | None = None, program: Callable[..., Any] | None = None,
    host: Callable[..., Any] | None = None, fold: bool = True,
) -> Callable[..., Any]: ...


@overload
def op(
    *, name: str | None = None, program: Callable[..., Any] | None = None, host: Callable[..., Any] | None = None,
    fold: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def op(
    f: Callable[..., Any] | None = None, *, name: str | None = None, program: Callable[..., Any] | None = None,
    host: Callable[..., Any] | None = None, fold: bool = True,
) -> Any:
    """Makes a tf function of a function of raw values (pm.Tensor, numbers, lists, NumPy arrays).

    `name` is how messages call it. `program` is the variant for values of Dataset.map, `host` the one
    for strings and dtypes that live in NumPy arrays. `fold=False` for random draws.

    >>> @op
    ... def square(x):
    ...     return pm.square(tensor(x))
    """
    if f is None:
        return functools.partial(op, name=name, program=program, host=host, fold=fold)
    function: Callable[..., Any] = f
    called = name or function.__name__.strip("_")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        label = kwargs.pop("name", None)
        if state.inside:
            return function(*args, **kwargs)
        found = _Found()
        opened = raw(args, found)
        named = raw(kwargs, found) if kwargs else kwargs
        if found.ragged:
            from ._ragged_ops import apply

            return apply(called, call, args, kwargs, lambda: run(found, opened, named, args, kwargs, label))
        return run(found, opened, named, args, kwargs, label)

    def run(found: _Found, opened: Any, named: Any, args: Any, kwargs: Any, label: Any) -> Any:
        if found.records or recording() is not None:
            return record(call, args, kwargs, label or called)
        if devices.opened.get("GPU"):
            opened, named = _together(found.values, opened, named)
        if not fold and not found.program:
            from . import _program

            if _program.tracing.like is not None:
                return _program.drawn(called, call, args, kwargs)
            if threading.current_thread() is not threading.main_thread():
                by_host = _program.drawn_by_host(called, args, kwargs)
                if by_host is not None:
                    return by_host
        state.inside = True
        try:
            if found.program:
                from . import _program

                result = _program.lower(
                    called, program, function, call, args, kwargs, opened, named
                )
            elif found.host and host is not None:
                result = host(*opened, **named)
            elif fold and _folds(found):
                with _core._Eager():
                    result = function(*opened, **named)
            else:
                result = function(*opened, **named)
        except pm.InvalidArgument as error:
            if isinstance(error, OpError):
                raise
            raise InvalidArgumentError(None, None, f"{{{called}}} {error}") from None
        finally:
            state.inside = False
        if found.variables and not _core._tracing():
            result = _apart(result, found.variables, called)
        if _state.log_placement[0]:
            _log(called, result)
        return wrap(result)

    setattr(call, "tf_name", called)
    return call


_VIEWS = frozenset((
    "broadcast_to", "cast", "concat", "ensure_shape", "expand_dims", "pad", "repeat", "reshape", "slice", "split",
    "squeeze", "stack", "stop_gradient", "strided_slice", "tile", "transpose", "unstack",
))
"""Ops that may give part of their argument's memory."""


def _apart(result: Any, variables: list[pm.Tensor], called: str) -> Any:
    """Results that share no memory with variables, which change in place."""
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields"):
        return type(result)(_apart(each, variables, called) for each in result)
    if isinstance(result, pm.Tensor) and not result.is_symbolic:
        at = _address(result)
        if called in _VIEWS if at is None else any(
            first <= at < first + each.nbytes for each in variables if (first := _address(each)) is not None
        ):
            return copied(result)
    return result


def _address(tensor: pm.Tensor) -> int | None:
    """Where its memory is; None where NumPy cannot say."""
    if tensor.dtype not in _NUMPY or tensor.device.kind != "cpu":
        return None
    found: int = tensor.numpy().__array_interface__["data"][0]
    return found


_NUMPY = (pm.f64, pm.f32, pm.i64, pm.i32)


def _log(called: str, result: Any) -> None:
    values = result if isinstance(result, (list, tuple)) else [result]
    for each in values:
        if isinstance(each, pm.Tensor):
            where = "traced" if each.is_symbolic else each.device.name
            print(
                f"Executing op {called} in device {where}: {each.dtype.name}{list(each.shape)}, "
                f"{each.nbytes} bytes",
                file=sys.stderr,
            )


def static_value(value: Any) -> Any:
    """A Python number or list of one that must be known: sizes, axes, shapes. In raw functions."""
    if isinstance(value, pm.Tensor):
        if value.is_symbolic:
            raise TypeError(
                "a size, axis or shape must be known when the function is traced, and this one is "
                "computed from values; tf.shape(x) is known"
            )
        return value.tolist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, TensorShape):
        return value.as_list()
    if isinstance(value, (list, tuple)):
        return [static_value(each) for each in value]
    return value


def ints(value: Any) -> list[int]:
    """A list of known integers: a shape, axes."""
    found = static_value(value)
    return [int(each) for each in found] if isinstance(found, list) else [int(found)]
