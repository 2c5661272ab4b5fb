"""Steps of training, evaluation and prediction: traced once for each kind of batch, planned, run.

A step that has no room as a whole is worked on in parts whose gradients are added up, unless the rows of a
batch matter to each other: statistics of the batch, or a loss that is not a mean.
"""

from __future__ import annotations

from typing import Any, Callable

import plimsoll as pm
from plimsoll import _core

from ... import _nest
from ..._autograph import rewrite
from ..._config import mind_others
from ..._state import state
from ..._tensor import Tensor
from ..._untraced import LOOKS, Body, call_planned, op_by_op
from .._base import wrap

_HOLE = object()
_KEPT = 16  # plans of a step, one for each kind of batch
_MOST_PARTS = 256  # of a batch: each is traced


def taken_apart(value: Any, tensors: list[Any]) -> Any:
    """The structure of a batch, as something hashable; its tensors go to the list."""
    if isinstance(value, Tensor):
        tensors.append(value._value)
        return _HOLE
    if isinstance(value, dict):
        return ("dict", tuple((key, taken_apart(each, tensors)) for key, each in value.items()))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(taken_apart(each, tensors) for each in value))
    return ("static", value)


def put_together(structure: Any, tensors: list[Any]) -> Any:
    if structure is _HOLE:
        return tensors.pop(0)
    kind, parts = structure
    if kind == "static":
        return parts
    if kind == "dict":
        return {key: put_together(each, tensors) for key, each in parts}
    values = [put_together(each, tensors) for each in parts]
    return values if kind == "list" else tuple(values)


class PlannedStep:
    """A function of a batch that gives a structure of tensors, planned for each kind of batch."""

    def __init__(
        self, name: str, function: Callable[..., Any], eager: bool = False,
        device: Callable[[], Any] = pm.default_device,
    ) -> None:
        self._name, self._function, self._eager, self._device = name, function, eager, device
        self._planned: dict[Any, _core.PlannedFunction] = {}
        self._results: dict[Any, Any] = {}

    def __call__(self, batch: Any, parts: int = 1) -> Any:
        tensors: list[Any] = []
        structure = taken_apart(batch, tensors)
        if self._eager or not all(isinstance(each, pm.Tensor) for each in tensors):
            return self._run(batch, parts)
        device = self._device()
        tensors = [each if each.device == device else each.to(device) for each in tensors]
        key = (structure, parts, tuple((each.shape, each.dtype) for each in tensors))
        planned = self._planned.get(key)
        if planned is None:
            if len(self._planned) >= _KEPT:
                self._planned.pop(next(iter(self._planned)))
            mind_others()
            planned = self._planned[key] = _core.PlannedFunction(self._name, device, None, 1, None)
        while True:
            body = Body(self._body(key))
            try:
                results = call_planned(planned, tensors, body)
                break
            except LOOKS:
                if body.error is None:
                    raise
                if rewrite(body.error):
                    planned = self._planned[key] = _core.PlannedFunction(self._name, device, None, 1, None)
                    continue
                result = op_by_op(self._name, body.error, lambda: self._run(batch, parts))
                self._eager = True
                return result
        return put_together(self._results[key], [wrap(each) for each in results])

    def explain(self, batch: Any, parts: int = 1) -> str:
        """What a step takes, without taking it."""
        tensors: list[Any] = []
        structure = taken_apart(batch, tensors)
        key = (structure, parts, None)
        device = self._device()
        tensors = [each.to(device) for each in tensors]  # as much as a batch of its own takes
        planned = _core.PlannedFunction(self._name, device, None, 1, None)
        body = self._body(key)
        found: str = planned.explain(tensors, lambda traced: (body(traced), 0))
        return found

    def _body(self, key: Any) -> Callable[[list[Any]], list[Any]]:
        structure, parts, _ = key

        def body(traced: list[Any]) -> list[Any]:
            found: list[Any] = []
            result = self._run(put_together(structure, [wrap(each) for each in traced]), parts)
            self._results[key] = taken_apart(result, found)
            return found

        return body

    def _run(self, batch: Any, parts: int) -> Any:
        before = (state.inside, state.replaying)
        state.inside, state.replaying = False, before[1] + 1
        try:
            return self._function(batch) if parts == 1 else self._function(batch, parts)
        finally:
            state.inside, state.replaying = before


def first_rows(batch: Any, rows: int) -> Any:
    """A batch of the first rows of another."""
    return _nest.map_structure(
        lambda x: wrap(x._value[:rows]) if isinstance(x, Tensor) and isinstance(x._value, pm.Tensor)
        and x._value.ndim else x, batch)


def part_of(batch: Any, index: int, parts: int) -> Any:
    """The index-th of `parts` parts of a batch, which differ by one row at most."""
    def leaf(x: Any) -> Any:
        if not isinstance(x, Tensor) or not x._value.ndim:
            return x
        rows = x._value.shape[0]
        return wrap(x._value[index * rows // parts:(index + 1) * rows // parts])

    return _nest.map_structure(leaf, batch)


def rows_of(batch: Any) -> int:
    for each in _nest.flatten(batch):
        if isinstance(each, Tensor):
            return int(each.shape[0] or 0)
    return 0


def run_within_budget(
    step: PlannedStep, batch: Any, parts: dict[int, int], can_split: Callable[[], bool]
) -> Any:
    """A step, in as many parts as the budget makes necessary; where none fits, the error names a batch
    that does."""
    rows = rows_of(batch)
    count = parts.get(rows, 1)
    while True:
        try:
            result = step(batch, count)
            parts[rows] = count
            return result
        except (pm.BudgetTooSmall, pm.OutOfMemory) as error:
            count = _more_parts(count, rows, can_split, error, step, batch)


def run_in_parts(
    step: PlannedStep, batch: Any, parts: dict[int, int], can_split: Callable[[], bool]
) -> list[Any]:
    """What a step gives for parts of a batch, one call for each: one part where that fits."""
    rows = rows_of(batch)
    count = parts.get(rows, 1)
    while True:
        try:
            first = [step(batch if count == 1 else part_of(batch, 0, count))]
            parts[rows] = count
            break
        except (pm.BudgetTooSmall, pm.OutOfMemory) as error:
            count = _more_parts(count, rows, can_split, error, step, batch)
    return first + [step(part_of(batch, i, count)) for i in range(1, count)]


def _more_parts(
    count: int, rows: int, can_split: Callable[[], bool], error: Exception, step: PlannedStep, batch: Any
) -> int:
    """Twice as many parts; the error, with a batch that fits, where that is not possible."""
    after = min(count * 2, rows)
    if after == count or after > _MOST_PARTS or (count == 1 and not can_split()):
        raise _named(error, step, batch, rows) from None
    return after


def _named(error: Exception, step: PlannedStep, batch: Any, rows: int) -> Exception:
    """The error with a batch that fits."""
    low, high = 0, rows
    while high - low > 1:
        middle = (low + high) // 2
        try:
            step.explain(first_rows(batch, middle))
            low = middle
        except (pm.BudgetTooSmall, pm.OutOfMemory):
            high = middle
    way = f"largest batch for this budget: {low} (batch_size={low})" if low else "no batch fits: raise the limit"
    return type(error)(f"{error}\n{way}")
