"""Pieces of the loops: batches, numbers, configurations."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm

from ..._tensor import Tensor
from .. import losses as losses_module, optimizers
from .._base import key_of
from ._data import Batches, batches_of


def add_squares(squares: dict[Any, pm.Tensor], rows: list[Any], gradients: Any) -> None:
    """For each embedding the sum of the squares of the gradients of its lookups."""
    for (table, ids, _), gradient in zip(rows, gradients):
        if gradient is None:
            continue
        flat = pm.square(gradient).reshape((ids.size, gradient.shape[-1]))
        flat = flat if flat.dtype == pm.f32 else pm.cast(flat, pm.f32)
        found = pm.scatter_add(flat, ids.reshape((ids.size,)), tuple(table._variable.shape))
        key = key_of(table)
        squares[key] = found if key not in squares else squares[key] + found


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
    if isinstance(value, Tensor):
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


