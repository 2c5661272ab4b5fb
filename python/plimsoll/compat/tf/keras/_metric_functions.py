"""Accuracies as functions of (y_true, y_pred): one value for each sample."""

from __future__ import annotations

import plimsoll as pm

from ._base import op
from ._loss_functions import same_rank


def _f32(x: pm.Tensor) -> pm.Tensor:
    return pm.cast(x, pm.f32)


@op
def accuracy(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = same_rank(y_true if y_true.dtype == y_pred.dtype else pm.cast(y_true, y_pred.dtype), y_pred)
    return _f32(t == p)


@op
def binary_accuracy(y_true: pm.Tensor, y_pred: pm.Tensor, threshold: float = 0.5) -> pm.Tensor:
    t, p = same_rank(y_true, y_pred)
    t = t if t.dtype == pm.f32 else _f32(t)
    same = _f32(t == _f32(p > threshold))
    return same


@op
def categorical_accuracy(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    return _f32(pm.argmax(y_true, axis=-1) == pm.argmax(y_pred, axis=-1))


@op
def sparse_categorical_accuracy(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t = y_true
    if t.ndim == y_pred.ndim and t.shape[-1] == 1:
        t = t.reshape(t.shape[:-1])
    found = pm.argmax(y_pred, axis=-1)
    return _f32((t if t.dtype == found.dtype else pm.cast(t, found.dtype)) == found)


def _in_top_k(labels: pm.Tensor, p: pm.Tensor, k: int) -> pm.Tensor:
    """Whether fewer than k classes are above the label's, as tf.math.in_top_k."""
    classes = int(p.shape[-1])
    at = pm.one_hot(labels if labels.dtype in (pm.i32, pm.i64) else pm.cast(labels, pm.i64), classes)
    own = pm.sum(p * at, axis=-1, keepdims=True)
    above = pm.sum(_f32(p > own), axis=-1)
    return _f32(above < float(k))


@op
def top_k_categorical_accuracy(y_true: pm.Tensor, y_pred: pm.Tensor, k: int = 5) -> pm.Tensor:
    return _in_top_k(pm.argmax(y_true, axis=-1), y_pred, k)


@op
def sparse_top_k_categorical_accuracy(
    y_true: pm.Tensor, y_pred: pm.Tensor, k: int = 5, from_sorted_ids: bool = False
) -> pm.Tensor:
    if from_sorted_ids:
        raise NotImplementedError("sparse_top_k_categorical_accuracy(from_sorted_ids=True)")
    t = y_true
    if t.ndim == y_pred.ndim and t.shape[-1] == 1:
        t = t.reshape(t.shape[:-1])
    return _in_top_k(t, y_pred, k)
