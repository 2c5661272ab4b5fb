"""pm.function: Python code that runs once per trace, and is planned from then on."""

from __future__ import annotations

import functools
from typing import Any, Callable, Generic, NamedTuple, ParamSpec, TypeVar, cast, overload

from . import _core
from ._core import Device, Session, Tensor, Variable
from ._traceback import boundary, guarded

P = ParamSpec("P")
R = TypeVar("R")

_TENSOR = object()


def _flatten(value: Any, tensors: list[Any]) -> Any:
    """The structure of `value`, whose tensors go to the list; hashable where its leaves are."""
    if isinstance(value, (Tensor, Variable)):
        tensors.append(value)
        return _TENSOR
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(_flatten(each, tensors) for each in value))
    if isinstance(value, dict):
        return ("dict", tuple((key, _flatten(each, tensors)) for key, each in value.items()))
    return ("static", value)


def _unflatten(structure: Any, tensors: list[Tensor]) -> Any:
    if structure is _TENSOR:
        return tensors.pop(0)
    kind, parts = structure
    if kind == "static":
        return parts
    if kind == "dict":
        return {key: _unflatten(each, tensors) for key, each in parts}
    values = [_unflatten(each, tensors) for each in parts]
    return tuple(values) if kind == "tuple" else values


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
            raise TypeError(f"[function] f is {f!r}; it must be a function of tensors")
        functools.update_wrapper(self, f)
        self._f = f
        self._options = (device, budget, signatures, seed)
        # One for each combination of arguments that are not tensors.
        self._planned: dict[Any, _core.PlannedFunction] = {}
        self._results: dict[Any, Any] = {}

    def _prepare(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[_core.PlannedFunction, list[Any], Callable[[list[Tensor]], list[Tensor]], Any]:
        tensors: list[Any] = []
        structure = _flatten((args, kwargs), tensors)
        try:
            planned = self._planned.get(structure)
        except TypeError:
            raise TypeError(
                f"[function] {getattr(self._f, '__name__', 'function')}() takes tensors, and values "
                "that can be compared, such as numbers and strings; make arrays tensors with "
                "pm.tensor(...)"
            ) from None
        if planned is None:
            device, budget, signatures, seed = self._options
            name = getattr(self._f, "__name__", "function")
            planned = _core.PlannedFunction(name, device, budget, signatures, seed)
            self._planned[structure] = planned

        def body(traced: list[Tensor]) -> list[Tensor]:
            given, named = _unflatten(structure, list(traced))
            found: list[Any] = []
            self._results[structure] = _flatten(self._f(*given, **named), found)
            return found

        return planned, tensors, body, structure

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        planned, tensors, body, structure = self._prepare(args, kwargs)
        results = planned.call(tensors, body)
        return cast(R, _unflatten(self._results[structure], results))

    def plan(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """What a call with such arguments takes, for people; nothing is computed."""
        planned, tensors, body, _ = self._prepare(args, kwargs)
        return planned.explain(tensors, body)

    @property
    def traces(self) -> int:
        """How often the Python code has run."""
        return sum(each.traces for each in self._planned.values())

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
    steps: int = 0,
) -> ScanResult:
    """A loop over the first dimension of `xs` as one op: f is traced once, and runs for each step.

    f(states, xs) gives (states, ys): the states after the step, of the same types, and what else is
    wanted of every step, or None. states, xs and ys are tensors or lists of them. What is traced
    around the scan must be handed in with `shared`: f(states, xs, shared). Memory: the states of all
    steps; what a step computes on the way is computed again for gradients.

    >>> def step(total, row):
    ...     return total + row, None
    >>> pm.scan(step, pm.zeros((3,)), rows).last
    """
    if not callable(f):
        raise TypeError(f"[scan] f is {f!r}; it must be a function of (states, xs)")
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

    last, every, ys = _core._scan(step, _listed(states), _listed(xs), _listed(shared), reverse, steps)
    return ScanResult(_as_given(last, states), _as_given(every, states), _as_given(ys, form[0]))
