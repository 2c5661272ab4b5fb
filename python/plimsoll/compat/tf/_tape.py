"""tf.GradientTape, and what else has to do with gradients."""

from __future__ import annotations

import enum
from typing import Any

import plimsoll as pm
from plimsoll import _core

from . import _custom, _nest, _variable
from ._convert import convert_to_tensor, tensor
from ._dispatch import op
from ._errors import unsupported
from ._operators import FLOATS
from ._state import recording, state
from ._symbolic import Record
from ._tensor import Tensor
from ._variable import Variable


class UnconnectedGradients(enum.Enum):
    NONE = "none"
    ZERO = "zero"


class GradientTape:
    """Records the ops of a block, so that gradients can be taken.

    >>> with tf.GradientTape() as tape:
    ...     loss = tf.reduce_mean(tf.square(x @ w - y))
    >>> tape.gradient(loss, w)
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent, self._automatic = persistent, watch_accessed_variables
        self._tape: Any = None
        self._read: list[Variable] = []
        self._rows: list[tuple[Variable, Any, Any]] = []
        self._dense: dict[int, int] = {}  # how often variables were read as a whole
        self._open, self._used, self._counted = False, False, False

    def __enter__(self) -> GradientTape:
        if recording() is not None:
            unsupported("tf.GradientTape in a graph of tf.compat.v1", way="tf.gradients(ys, xs)")
        if self._open:
            raise ValueError("Tape is still recording, This can happen if you try to re-enter an already-active tape.")
        self._start()
        return self

    def _start(self) -> None:
        # It may have to walk back several times for one gradient() or jacobian(); then it is let go.
        self._tape = _custom.tape(persistent=True)
        self._tape.__enter__()
        self._counted = not _core._tracing()
        state.tapes += self._counted
        self._open = True
        _variable.lookups.append(self._note_rows)
        if self._automatic:
            _variable.watchers.append(self._note)

    def __exit__(self, *raised: Any) -> None:
        self._stop()

    def _stop(self) -> None:
        if not self._open or self._tape is None:
            return
        self._open = False
        self._tape.__exit__(None, None, None)
        state.tapes -= self._counted
        _variable.lookups.remove(self._note_rows)
        if self._automatic and self._note in _variable.watchers:
            _variable.watchers.remove(self._note)

    def _note(self, variable: Variable) -> None:
        self._dense[id(variable)] = self._dense.get(id(variable), 0) + 1
        if variable.trainable and all(each is not variable for each in self._read):
            self._read.append(variable)

    def _note_rows(self, table: Variable, ids: Any, rows: Any, read: bool = False) -> None:
        if self._counted != _core._tracing():  # rows of a trace within the block are not on this tape
            self._rows.append((table, ids, rows))
            self._dense[id(table)] = self._dense.get(id(table), 0) - read  # a read that was noted, but for the rows

    def _rows_of(self, sources: list[Any]) -> list[tuple[Variable, Any, Any]]:
        """What was looked up in tables among the sources that were not read in another way: TensorFlow then
        has the gradients of single rows, which some optimizers square one by one."""
        return [each for each in self._rows if any(each[0] is source for source in sources)
                and self._dense.get(id(each[0]), 0) <= 0]

    def watch(self, tensor: Any) -> None:
        """Follow tensors, also variables that are not trained."""
        for each in _nest.flatten(tensor):
            if isinstance(each, Variable):
                if all(known is not each for known in self._read):
                    self._read.append(each)
                if self._tape is not None and each._variable is not None and not each.trainable:
                    self._tape.watch(each._variable.value)
                continue
            value = each._value if isinstance(each, Tensor) else convert_to_tensor(each)._value
            if self._tape is None:
                raise RuntimeError("watch() is for tensors of the block: with tf.GradientTape() as tape: tape.watch(x)")
            if isinstance(value, pm.Tensor) and value.dtype in FLOATS:
                self._tape.watch(value)

    def watched_variables(self) -> tuple[Variable, ...]:
        return tuple(self._read)

    def stop_recording(self) -> Any:
        """A block whose ops are not recorded."""
        return _core._Eager()

    def reset(self) -> None:
        """Forgets what was recorded."""
        was_open = self._open
        self._stop()
        self._read, self._rows, self._dense, self._used = [], [], {}, False
        if was_open:
            self._start()

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The derivative of `target`, summed over its elements, by each of the sources."""
        self._check_unused()
        if not self._persistent:
            self._stop()
        self._used = True
        targets = [each for each in _nest.flatten(target) if each is not None]
        seeds = _nest.flatten(output_gradients) if output_gradients is not None else [None] * len(targets)
        listed = _nest.flatten(sources)
        rows = self._rows_of(listed)
        by = [*listed, *(Tensor(each) for _, _, each in rows)]
        totals: list[Any] = [None] * len(by)
        for one, seed in zip(targets, seeds):
            for i, found in enumerate(self._one(one, by, seed)):
                if found is not None:
                    totals[i] = found if totals[i] is None else totals[i] + found
        if not self._persistent:
            self._tape, self._rows = None, []
        zero = UnconnectedGradients(getattr(unconnected_gradients, "value", unconnected_gradients)) is UnconnectedGradients.ZERO
        made = [
            Tensor(each) if each is not None else (_zeros(source) if zero else None)
            for each, source in zip(totals, listed)
        ]
        for (table, ids, _), gradient in zip(rows, totals[len(listed):]):
            for each in (m for m, source in zip(made, listed) if source is table):
                if each is not None and gradient is not None:
                    each._keras_rows = [*getattr(each, "_keras_rows", ()), (ids, gradient)]
        return _nest.pack_sequence_as(sources, made)

    def _check_unused(self) -> None:
        if self._used and not self._persistent:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)")
        if self._tape is None:
            raise RuntimeError("A GradientTape has to be entered (with tf.GradientTape() as tape:) before gradient()")

    def _one(self, target: Any, sources: list[Any], seed: Any) -> list[Any]:
        if isinstance(target, Variable):
            return [pm.ones_like(s._variable.value) if s is target and s._variable is not None else None for s in sources]
        value = target._value
        if not isinstance(value, pm.Tensor) or value.dtype not in FLOATS:
            return [None] * len(sources)
        by = [self._source(each) for each in sources]
        known = [each for each in by if each is not None]
        if not known:
            return [None] * len(sources)
        assert self._tape is not None
        weights = None if seed is None else tensor(seed._value if isinstance(seed, Tensor) else seed, like=value)
        results = iter(_custom.gradients(self._tape, value, known, weights))
        return [None if each is None else next(results) for each in by]

    def _source(self, source: Any) -> Any:
        if isinstance(source, Variable):
            watched = self._automatic and source.trainable or any(each is source for each in self._read)
            if source._variable is None or not watched or source._variable.dtype not in FLOATS:
                return None
            return source._variable
        if not isinstance(source, Tensor):
            raise ValueError(f"Passed in object {source!r} of type {type(source).__name__!r}, not tf.Tensor or tf.Variable")
        value = source._value
        if isinstance(value, Record):
            unsupported("GradientTape.gradient by a symbolic tensor", way="tf.gradients in tf.compat.v1")
        return value if isinstance(value, pm.Tensor) and value.dtype in FLOATS else None

    def jacobian(
        self, target: Any, sources: Any, unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: Any = None, experimental_use_pfor: bool = True,
    ) -> Any:
        """All derivatives of all elements of `target`: shape target.shape + source.shape."""
        from ._arrays import reshape, stack

        self._check_unused()
        dims = target.shape.as_list()
        count = target.shape.num_elements() or 0
        rows = []
        before, self._persistent = self._persistent, True  # one walk for each element
        try:
            for i in range(count):
                hot = [0.0] * count
                hot[i] = 1.0
                seed = Tensor(pm.tensor(hot).to(target._value.dtype).reshape(tuple(dims)))
                rows.append(_nest.flatten(self.gradient(target, sources, seed, UnconnectedGradients.ZERO)))
        finally:
            self._persistent = before
        if not before:
            self._stop()
            self._tape = None
        made = [
            reshape(stack([row[i] for row in rows]), [*dims, *source.shape.as_list()])
            for i, source in enumerate(_nest.flatten(sources))
        ]
        return _nest.pack_sequence_as(sources, made)

    def batch_jacobian(self, target: Any, source: Any, **options: Any) -> Any:
        """The jacobian of each element of a batch by itself: [batch, target..., source...]."""
        from ._arrays import stack

        whole = self.jacobian(target, source)
        batch, rank = target.shape[0], len(target.shape)
        picked = [whole[(i, *([slice(None)] * (rank - 1)), i)] for i in range(batch)]
        return stack(picked)


def _zeros(source: Any) -> Tensor:
    value = source._as_tensor()._value if isinstance(source, Variable) else source._value
    return Tensor(pm.zeros_like(value))


@op(name="stop_gradient", host=lambda input: input)
def stop_gradient(input: Any) -> Any:
    value = tensor(input)
    return pm.stop_gradient(value) if isinstance(value, pm.Tensor) else value


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", gate_gradients: bool = False,
    aggregation_method: Any = None, stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Derivatives of the sum of ys by each of xs, in a graph of tf.compat.v1."""
    if stop_gradients is not None:
        unsupported("tf.gradients", "stop_gradients", "tf.stop_gradient(x)")
    if recording() is None:
        raise RuntimeError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    from ._graph import symbolic_gradients

    return symbolic_gradients(ys, xs, grad_ys, unconnected_gradients)


def hessians(ys: Any, xs: Any, **options: Any) -> Any:
    unsupported("tf.hessians", way="two tf.GradientTape blocks, one in the other")
