"""Whether a model treats the rows of a batch by themselves, so that a batch may be worked on in parts."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm

from ... import _nest
from ..._tensor import Tensor
from .._base import raw, wrap
from ._data import unpack
from ._step import first_rows, part_of, rows_of


def normalizes_by_batch(model: Any) -> bool:
    """Whether training uses statistics of the batch."""
    from ..layers import BatchNormalization

    return any(isinstance(each, BatchNormalization) and each.trainable for each in model._flatten_layers())


def rows_stand_alone(model: Any, batch: Any, with_loss: bool) -> bool:
    """Tried with a few rows: predictions are the same in two halves, and the loss is the mean of theirs."""
    rows = min(4, rows_of(batch) // 2 * 2)
    if rows == 0:
        return False
    device = model._device()
    few = _nest.map_structure(
        lambda x: wrap(x._value.to(device)) if isinstance(x, Tensor) else x, first_rows(batch, rows))
    kept = [(v, v.numpy()) for metric in model.metrics for v in metric.variables] if with_loss else []
    try:
        whole = _numbers(model, few, with_loss)
        halves = [_numbers(model, part_of(few, i, 2), with_loss) for i in range(2)]
    except (pm.BudgetTooSmall, pm.OutOfMemory):
        return True  # parts of one row may still fit
    finally:
        for variable, value in kept:
            variable.assign(value)
    tolerance = 1e-4 if whole[0].dtype == np.float32 else 2e-2
    for both, *each in zip(whole, *halves):
        together = np.concatenate(each) if each[0].ndim else np.mean(each)
        if np.shape(together) != both.shape or not np.allclose(together, both, rtol=tolerance, atol=tolerance):
            return False
    return True


def _numbers(model: Any, batch: Any, with_loss: bool) -> list[Any]:
    x, y, weight = unpack(batch)
    predicted = model._forward(x, False)
    found = [each.numpy() for each in _nest.flatten(predicted)]
    if with_loss:
        found.append(np.asarray(raw(model._loss(x, y, predicted, weight, False)).item()))
    return found
