"""tf.custom_gradient: functions with a gradient of their own.

The library's tapes know the gradients of ops alone. What such a function gives is therefore a value of its
own to a tape. The tape is asked for the derivative by it, the function's gradient makes derivatives by the
arguments of that, and the tape goes on from there.
"""

from __future__ import annotations

import functools
import inspect
import threading
from typing import Any, Callable, Sequence

import plimsoll as pm

from . import _nest, _variable
from ._convert import convert_to_tensor
from ._operators import FLOATS
from ._program import find
from ._state import recording
from ._symbolic import record, records_in
from ._tensor import Tensor
from ._variable import Variable


class _Open(threading.local):
    def __init__(self) -> None:
        self.tapes: list[Tape] = []


_open = _Open()
_defined: list[bool] = [False]  # whether the program has such functions: other tapes need not look for them


class _Call:
    """One call that a tape has seen: the arguments, what it gave, and the way back."""

    def __init__(
        self, inputs: list[Any], outputs: list[Any], variables: list[Variable], back: Callable[..., Any]
    ) -> None:
        self.inputs, self.outputs, self.variables, self._back = inputs, outputs, variables, back

    def derivatives(self, seeds: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """By the arguments and by the variables, raw."""
        given = [Tensor(each) for each in seeds]
        if self.variables:
            if not _takes_variables(self._back):
                raise TypeError("If using @custom_gradient with a function that uses variables, then grad_fn must "
                                "accept a 'variables' keyword argument.")
            by_inputs, by_variables = self._back(*given, variables=self.variables)
        else:
            by_inputs, by_variables = self._back(*given), []
        found = [_raw(each) for each in _listed(by_inputs)]
        if len(found) != len(self.inputs):
            raise ValueError(f"custom_gradient function expected to return {len(self.inputs)} gradients, but returned "
                             f"{len(found)} instead.")
        return found, [_raw(each) for each in _listed(by_variables)]


class Tape:
    """A tape that knows such calls; used like pm.GradientTape."""

    def __init__(self) -> None:
        self._tape = pm.GradientTape(persistent=True)  # each call takes another walk
        self._calls: list[_Call] = []

    def __enter__(self) -> Tape:
        self._tape.__enter__()
        _open.tapes.append(self)
        return self

    def __exit__(self, *raised: object) -> None:
        self._tape.__exit__(None, None, None)
        _open.tapes[:] = [each for each in _open.tapes if each is not self]

    def watch(self, tensors: Any) -> None:
        self._tape.watch(tensors)

    def note(self, call: _Call) -> None:
        self._calls.append(call)
        self._tape.watch([each for each in call.outputs if each.dtype in FLOATS])

    def gradient(self, target: Any, sources: Sequence[Any], seed: Any = None) -> list[Any]:
        """The derivative of `target` by each source, or None."""
        leaves = [each for call in self._calls for each in call.outputs if each.dtype in FLOATS]
        by = [*sources, *leaves]
        totals = self._walk(target, by, seed)
        places = {id(each): len(sources) + i for i, each in enumerate(leaves)}
        for call in reversed(self._calls):
            seeds = [totals[places[id(each)]] if id(each) in places else None for each in call.outputs]
            if all(each is None for each in seeds):
                continue
            by_inputs, by_variables = call.derivatives([
                pm.zeros_like(y) if each is None else each for each, y in zip(seeds, call.outputs)])
            for x, each in zip(call.inputs, by_inputs):
                if each is not None and x is not None:
                    _add(totals, self._walk(x, by, pm.broadcast_to(each, x.shape) if each.shape != x.shape else each))
            for variable, each in zip(call.variables, by_variables):
                _add(totals, [each if source is variable._variable else None for source in by])
        return totals[: len(sources)]

    def _walk(self, target: Any, by: list[Any], seed: Any) -> list[Any]:
        return gradients(self._tape, target, by, seed)


def tape(persistent: bool = False) -> Any:
    """A tape of the library, or one for functions with gradients of their own where there are some."""
    return Tape() if _defined[0] else pm.GradientTape(persistent=persistent)


def gradients(tape: Any, target: Any, sources: Sequence[Any], seed: Any = None) -> list[Any]:
    """What either tape gives, as a list."""
    if not sources:
        return []
    if seed is not None and isinstance(tape, pm.GradientTape):  # which weighs nothing for a list of variables
        sources = [each.value if isinstance(each, pm.Variable) else each for each in sources]
    found = tape.gradient(target, sources, seed)
    return [found[i] for i in range(len(sources))]


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """A function that gives its result and the function for its gradient.

    >>> @tf.custom_gradient
    ... def log1pexp(x):
    ...     e = tf.exp(x)
    ...     return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))
    """
    if f is None:
        return custom_gradient
    function: Callable[..., Any] = f
    _defined[0] = True

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if recording() is not None or records_in((args, kwargs)):
            return record(call, args, kwargs, getattr(function, "__name__", "custom_gradient"))
        given = _nest.map_structure(lambda x: x if isinstance(x, (Tensor, Variable)) else convert_to_tensor(x), args)
        if not _open.tapes or find(given) is not None:
            return function(*given, **kwargs)[0]
        return _followed(function, given, kwargs)

    return call


def _followed(function: Callable[..., Any], given: Any, kwargs: Any) -> Any:
    read: list[Variable] = []
    _variable.watchers.append(read.append)
    try:
        result, back = function(*given, **kwargs)
    finally:
        _variable.watchers.remove(read.append)
    flat = _nest.flatten(given)
    own = {id(each) for each in flat if isinstance(each, Variable)}
    variables = {id(each): each for each in read if each.trainable and id(each) not in own}
    outputs = [pm.stop_gradient(_raw(each)) for each in _nest.flatten(result)]
    inputs = [_raw(each) for each in flat]
    call = _Call([each if each.dtype in FLOATS else None for each in inputs], outputs, list(variables.values()), back)
    for each in _open.tapes:
        each.note(call)
    made = [Tensor(each) for each in outputs]
    return _nest.pack_sequence_as(result, made)


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` forward, and the identity backward."""

    @custom_gradient
    def call(*args: Any, **kwargs: Any) -> Any:
        def back(*upstream: Any, variables: Any = None) -> Any:
            by = upstream[0] if len(upstream) == 1 else list(upstream)
            return (by, [None] * len(variables)) if variables is not None else by

        return f(*args, **kwargs), back

    return call  # type: ignore[no-any-return]


def _add(totals: list[Any], more: list[Any]) -> None:
    for i, each in enumerate(more):
        if each is not None:
            totals[i] = each if totals[i] is None else totals[i] + each


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _raw(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Variable):
        value = value._as_tensor()
    return (value if isinstance(value, Tensor) else convert_to_tensor(value))._value


def _takes_variables(f: Callable[..., Any]) -> bool:
    parameters = inspect.signature(f).parameters
    return "variables" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
