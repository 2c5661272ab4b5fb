"""pm.function: Python code that runs once per trace, and is planned from then on."""

from __future__ import annotations

import functools
import inspect
import itertools
import logging
import threading
import weakref
from typing import Any, Callable, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, cast, overload

from . import _core
from ._core import Device, Session, Tensor
from ._mistakes import of_call, shown
from ._structure import differences, flatten, statics, unflatten
from ._traceback import boundary, guarded

S = TypeVar("S")
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

# Combinations of values that are not tensors, from which on a new one is worth a warning.
_EXPECTED = 4


class _Traces:
    """What was traced of a function, for each combination of arguments that are not tensors."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.planned: dict[Any, _core.PlannedFunction] = {}
        # Structures of results by their number; traces with equal ones share it.
        self.forms: dict[int, Any] = {}
        self.numbers: dict[Any, int] = {}
        self.dropped = 0
        """Traces of combinations that are not kept any more."""

    def number(self, form: Any) -> int:
        with self.lock:
            try:
                known = self.numbers.setdefault(form, len(self.forms))
            except TypeError:  # a result that cannot be compared
                known = len(self.forms)
            self.forms[known] = form
            return known


@guarded
class Function(Generic[P, R]):
    """What pm.function makes of a Python function."""

    def __init__(
        self,
        f: Callable[P, R],
        *,
        device: Device | Session | str | None = None,
        budget: int | str | None = None,
        signatures: int = 8,
        seed: int | None = None,
    ) -> None:
        if not callable(f):
            raise TypeError(f"[function] f is {shown(f)}; it must be a function of tensors")
        if inspect.isgeneratorfunction(f) or inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f):
            raise TypeError(f"[function] {f.__name__} gives its results later (yield or async); it must return them")
        functools.update_wrapper(self, f)
        self._f = f
        self._options = (device, budget, signatures, seed)
        self._traces = _Traces()
        self._first: tuple[Any, ...] = ()
        # Of a method: the traces for each object, which goes as soon as nobody else has it.
        self._methods: dict[int, tuple[weakref.ref[Any], _Traces]] = {}

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Function[P, R]: ...
    @overload
    def __get__(self: Function[Concatenate[S, Q], R], instance: S, owner: Any = None) -> Function[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        bound = object.__new__(Function)
        functools.update_wrapper(bound, self._f)
        bound._f, bound._options, bound._methods = self._f, self._options, {}
        bound._first, bound._traces = (instance,), self._traces_of(instance)
        return bound

    def _traces_of(self, instance: Any) -> _Traces:
        known = self._methods.get(id(instance))
        if known is not None and known[0]() is instance:
            return known[1]
        methods, at = self._methods, id(instance)
        try:
            gone = weakref.ref(instance, lambda _: methods.pop(at, None))
        except TypeError:
            raise TypeError(
                f"[function] {self._name()} is a method of {type(instance).__name__}, whose __slots__ have no "
                "place for weak references; add \"__weakref__\" to them"
            ) from None
        return methods.setdefault(at, (gone, _Traces()))[1]

    def _name(self) -> str:
        return str(getattr(self._f, "__name__", "function"))

    def _place(self, where: tuple[Any, ...]) -> str:
        """An argument in a message: x, or batch[0]."""
        (side, first), rest = where[:2], where[2:]
        name = str(first)
        if side == 0:
            try:
                known = list(inspect.signature(self._f).parameters.values())[len(self._first) :]
            except (TypeError, ValueError):
                known = []
            plain = [each.name for each in known if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
            name = plain[first] if first < len(plain) else f"argument {first}"
        return name + "".join(f"[{each!r}]" for each in rest)

    def _planned_for(self, structure: Any) -> _core.PlannedFunction:
        traces = self._traces
        device, budget, signatures, seed = self._options
        try:
            hash(structure)
        except TypeError:
            raise self._not_comparable(structure) from None
        with traces.lock:
            planned = traces.planned.pop(structure, None)
            if planned is None:
                if len(traces.planned) + traces.dropped >= _EXPECTED:
                    self._warn(structure, next(reversed(traces.planned), None))
                planned = _core.PlannedFunction(self._name(), device, budget, signatures, seed)
                if len(traces.planned) >= max(signatures, 1):
                    traces.dropped += traces.planned.pop(next(iter(traces.planned))).traces
            traces.planned[structure] = planned  # the one that was used last
            return planned

    def _warn(self, structure: Any, before: Any) -> None:
        for where, now, then in itertools.islice(differences(structure, before), 1):
            if len(where) < 2 or not hasattr(now, "value") or not hasattr(then, "value"):
                return
            number = isinstance(now.value, (int, float)) and not isinstance(now.value, bool)
            hint = "; give numbers that change as tensors: pm.tensor(...)" if number else ""
            logging.getLogger("plimsoll").warning(
                "[%s] traced again, as for every value that is not a tensor: %s is %s, before %s%s",
                self._name(), self._place(where), shown(now.value), shown(then.value), hint,
            )

    def _not_comparable(self, structure: Any) -> TypeError:
        for where, value in statics(structure):
            try:
                hash(value)
            except TypeError:
                hint = "make it a tensor: pm.tensor(...)" if hasattr(value, "__array__") else "give its parts instead"
                return TypeError(
                    f"[function] {self._place(where)} of {self._name()}() is {shown(value)}, which is neither a tensor "
                    f"nor a value that can be a key of a dict, such as a number or text; {hint}"
                )
        return TypeError(f"[function] keys of dicts that {self._name()}() is given must be hashable")

    def _prepare(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[_core.PlannedFunction, list[Any], Callable[[list[Tensor]], tuple[list[Tensor], int]]]:
        tensors: list[Any] = []
        structure = flatten((args, kwargs), tensors)
        f, first, traces = self._f, self._first, self._traces

        def body(traced: list[Tensor]) -> tuple[list[Tensor], int]:
            given, named = unflatten(structure, iter(traced))
            mistake = of_call(f, (*first, *given), named)
            if mistake is not None:
                raise mistake
            found: list[Any] = []
            form = flatten(f(*first, *given, **named), found)
            return found, traces.number(form)

        return self._planned_for(structure), tensors, body

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        planned, tensors, body = self._prepare(args, kwargs)
        results, number = planned.call_numbered(tensors, body)
        return cast(R, unflatten(self._traces.forms[number], iter(results)))

    def plan(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """What a call with such arguments takes, for people; nothing is computed."""
        planned, tensors, body = self._prepare(args, kwargs)
        return planned.explain(tensors, body)

    @property
    def traces(self) -> int:
        """How often the Python code has run."""
        with self._traces.lock:
            return self._traces.dropped + sum(each.traces for each in self._traces.planned.values())

    def __repr__(self) -> str:
        return f"pm.function({getattr(self._f, '__name__', self._f)}, {self.traces} traces)"


@overload
def function(f: Callable[P, R]) -> Function[P, R]: ...
@overload
def function(
    *,
    device: Device | Session | str | None = None,
    budget: int | str | None = None,
    signatures: int = 8,
    seed: int | None = None,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...
@boundary
def function(f: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Any function of tensors, planned: traced once for each signature (shapes and dtypes), and run
    within the budget and at the speed of a trainer's step.

    The Python code runs while it is traced and not again: it must not look at values. Variables that
    it reads are state, and those that it writes are updated in place.

    >>> @pm.function
    ... def step(x, y):
    ...     with pm.GradientTape() as tape:
    ...         loss = pm.nn.mean_squared_error(net(x), y)
    ...     optimizer.apply(tape.gradient(loss, net))
    ...     return loss
    """
    if f is not None:
        return Function(f, **options)
    return lambda g: Function(g, **options)


class ScanResult(NamedTuple):
    """What pm.scan gives. Each is a tensor or a list, as the states and what f gave were."""

    last: Any
    """The states after the last step that ran."""
    states: Any
    """[steps, ...]: those after every step, at the step's place."""
    ys: Any
    """[steps, ...]: what f gave besides; None where that was None."""


def _listed(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _as_given(tensors: list[Tensor], form: Any) -> Any:
    if form is None:
        return None
    return tensors if isinstance(form, (list, tuple)) else tensors[0]


@boundary
def scan(
    f: Callable[..., Any],
    states: Any,
    xs: Any = None,
    shared: Any = None,
    *,
    reverse: bool = False,
    steps: int | None = None,
) -> ScanResult:
    """A loop over the first dimension of `xs` as one op: f is traced once, and runs for each step.

    f(states, xs) gives (states, ys): the states after the step, of the same types, and what else is
    wanted of every step, or None. states, xs and ys are tensors or lists of them. What is traced
    around the scan must be handed in with `shared`: f(states, xs, shared). Memory: the states of all
    steps; what a step computes on the way is computed again for gradients. Without xs, `steps` says
    how many there are; of none, the last states are the first ones.

    >>> def step(total, row):
    ...     return total + row, None
    >>> pm.scan(step, pm.zeros((3,)), rows).last
    """
    if not callable(f):
        raise TypeError(f"[scan] f is {shown(f)}; it must be a function of (states, xs)")
    form: list[Any] = [None]

    def step(before: list[Tensor], slices: list[Tensor], same: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        given = [_as_given(before, states), _as_given(slices, xs)]
        if shared is not None:
            given.append(_as_given(same, shared))
        made = f(*given)
        if not isinstance(made, tuple) or len(made) != 2:
            raise TypeError("[scan] f must return (states, ys); ys may be None")
        form[0] = made[1]
        return _listed(made[0]), _listed(made[1])

    last, every, ys = _core._scan(step, _listed(states), _listed(xs), _listed(shared), reverse, -1 if steps is None else steps)
    return ScanResult(_as_given(last, states), _as_given(every, states), _as_given(ys, form[0]))
