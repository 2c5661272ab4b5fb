"""Pieces of the loops: batches, numbers, configurations."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import numpy as np

from ... import _variable
from ..._tensor import Tensor
from .. import losses as losses_module, optimizers
from ._data import Batches, batches_of


@contextlib.contextmanager
def looked_up(wanted: bool) -> Iterator[list[Any]]:
    """What embeddings look up in the block, as (table, ids, rows), in tables that are not read in another way."""
    rows: list[Any] = []
    dense: dict[int, int] = {}

    def note(table: Any, ids: Any, found: Any, read: bool = False) -> None:
        rows.append((table, ids, found))
        dense[id(table)] = dense.get(id(table), 0) - read

    def note_read(table: Any) -> None:
        dense[id(table)] = dense.get(id(table), 0) + 1

    if wanted:
        _variable.lookups.append(note)
        _variable.watchers.append(note_read)
    try:
        yield rows
    finally:
        if wanted:
            _variable.lookups.remove(note)
            _variable.watchers.remove(note_read)
        rows[:] = [each for each in rows if dense.get(id(each[0]), 0) <= 0]


def joined(results: list[list[Any]]) -> list[Any]:
    """The results of batches, or of parts of one, as one array for each output."""
    return [np.concatenate(parts) if parts[0].ndim else np.stack(parts) for parts in zip(*results)]


def has_call(model: Any) -> bool:
    from ._model import Model

    return type(model).call is not Model.call


def one(x: Any, y: Any, weight: Any) -> Any:
    """A whole batch as tensors."""
    from ._data import _tensors

    return _tensors(listed(x)), _tensors(listed(y)), _tensors(weight)


def listed(value: Any) -> Any:
    from ._data import _numbers

    return _numbers(value)


def number(value: Any) -> Any:
    if isinstance(value, (Tensor, _variable.Variable)):
        found = value.numpy()
        return float(found) if np.ndim(found) == 0 else found
    return float(value) if isinstance(value, (int, np.generic)) else value


def numbers(logs: dict[str, Any]) -> dict[str, Any]:
    """Logs as Keras has them: sorted by name, those of nested dicts among them, tensors as numbers."""
    found: dict[str, Any] = {}
    for key in sorted(logs):
        value = logs[key]
        found.update(numbers(value) if isinstance(value, dict) else {key: number(value)})
    return found


def validation_batches(data: Any, batch_size: int | None, steps: int | None) -> Batches:
    x, y, weight = (*data, None)[:3] if isinstance(data, (tuple, list)) and len(data) in (2, 3) else (data, None, None)
    made = batches_of(x, y, weight, batch_size, steps)
    made.anew = True
    return made


def validates(epoch: int, frequency: Any) -> bool:
    if isinstance(frequency, int):
        return (epoch + 1) % frequency == 0
    return epoch + 1 in frequency


def written(value: Any) -> Any:
    if hasattr(value, "serialized"):
        return value.serialized()
    if isinstance(value, (list, tuple)):
        return [written(each) for each in value]
    if isinstance(value, dict):
        return {key: written(each) for key, each in value.items()}
    if callable(value):
        from .._config import registered_name

        return registered_name(value)
    return value


def read(key: str, value: Any) -> Any:
    from .. import metrics as metrics_module

    if isinstance(value, dict) and "class_name" in value:
        if key == "optimizer":
            return optimizers.get(value)
        return losses_module.get(value) if key == "loss" else metrics_module.get(value)
    if isinstance(value, list):
        return [read(key, each) for each in value]
    if isinstance(value, dict):
        return {name: read(key, each) for name, each in value.items()}
    return value


