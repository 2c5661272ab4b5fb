"""Keras's losses as functions of (y_true, y_pred): one value for each sample."""

from __future__ import annotations

import math
from typing import Any, Callable

import plimsoll as pm
from plimsoll import _core

from ._base import epsilon, logits_of, op, raw, wrap

Axis = int | None


def same_rank(a: pm.Tensor, b: pm.Tensor) -> tuple[pm.Tensor, pm.Tensor]:
    """A last dimension of 1 that one has and the other has not, as Keras treats it."""
    if a.ndim == b.ndim + 1 and a.shape[-1] == 1:
        if b.ndim == 1:
            return a, b.reshape(tuple(b.shape) + (1,))
        return a.reshape(a.shape[:-1]), b
    if b.ndim == a.ndim + 1 and b.shape[-1] == 1:
        if a.ndim == 1:
            return a.reshape(tuple(a.shape) + (1,)), b
        return a, b.reshape(b.shape[:-1])
    return a, b


def prepared(t: pm.Tensor, p: pm.Tensor) -> tuple[pm.Tensor, pm.Tensor]:
    return same_rank(t if t.dtype == p.dtype else pm.cast(t, p.dtype), p)


def _mean(x: pm.Tensor) -> pm.Tensor:
    return pm.mean(x, axis=-1) if x.ndim else x


@op
def mean_squared_error(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    return _mean(pm.square(p - t))


@op
def mean_absolute_error(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    return _mean(pm.abs(p - t))


@op
def mean_absolute_percentage_error(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    return _mean(pm.abs((t - p) / pm.maximum(pm.abs(t), epsilon()))) * 100.0


@op
def mean_squared_logarithmic_error(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    first = pm.log(pm.maximum(p, epsilon()) + 1.0)
    second = pm.log(pm.maximum(t, epsilon()) + 1.0)
    return _mean(pm.square(first - second))


@op
def huber(y_true: pm.Tensor, y_pred: pm.Tensor, delta: float = 1.0) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    error = p - t
    size = pm.abs(error)
    return _mean(pm.where(size <= delta, pm.square(error) * 0.5, size * delta - 0.5 * delta * delta))


@op
def log_cosh(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    x = p - t
    return _mean(x + pm.softplus(x * -2.0) - math.log(2.0))


def _signs(t: pm.Tensor) -> pm.Tensor:
    """Labels 0 and 1 as -1 and 1, unless there are others."""
    binary = pm.all(pm.logical_or(t == 0.0, t == 1.0))
    return pm.where(binary, t * 2.0 - 1.0, t)


@op
def hinge(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    return _mean(pm.maximum(1.0 - _signs(t) * p, 0.0))


@op
def squared_hinge(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    return _mean(pm.square(pm.maximum(1.0 - _signs(t) * p, 0.0)))


@op
def categorical_hinge(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    right = pm.sum(t * p, axis=-1)
    wrong = pm.max((1.0 - t) * p, axis=-1)
    return pm.maximum(wrong - right + 1.0, 0.0)


@op
def kl_divergence(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    t, p = pm.clip(t, epsilon(), 1.0), pm.clip(p, epsilon(), 1.0)
    return pm.sum(t * pm.log(t / p), axis=-1)


@op
def poisson(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    return _mean(p - t * pm.log(p + epsilon()))


@op
def cosine_similarity(y_true: pm.Tensor, y_pred: pm.Tensor, axis: int = -1) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)

    def unit(x: pm.Tensor) -> pm.Tensor:
        return x * pm.rsqrt(pm.maximum(pm.sum(pm.square(x), axis=axis, keepdims=True), 1e-12))

    return -pm.sum(unit(t) * unit(p), axis=axis)


@op
def _binary(t: pm.Tensor, p: pm.Tensor, logits: bool, smoothing: float) -> pm.Tensor:
    t, p = prepared(t, p)
    if smoothing:
        t = t * (1.0 - smoothing) + 0.5 * smoothing
    if logits:
        # Not max(p, 0) + log(1 + exp(-|p|)), whose parts have no derivative at 0, where training often begins.
        return _mean(pm.softplus(p) - p * t)
    p = pm.clip(p, epsilon(), 1.0 - epsilon())
    return -_mean(t * pm.log(p) + (1.0 - t) * pm.log(1.0 - p))


def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Any:
    if axis != -1:
        raise NotImplementedError("binary_crossentropy(axis=...) other than -1: transpose first")
    y_pred, from_logits = logits_of(y_pred, from_logits, "sigmoid")
    return _binary(y_true, y_pred, from_logits, float(label_smoothing))


@op
def _categorical(t: pm.Tensor, p: pm.Tensor, logits: bool, smoothing: float, axis: int) -> pm.Tensor:
    t = t if t.dtype == p.dtype else pm.cast(t, p.dtype)
    if tuple(t.shape) != tuple(p.shape):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape. Received: "
            f"target.shape={tuple(t.shape)}, output.shape={tuple(p.shape)}. Labels that are numbers of classes need "
            "sparse_categorical_crossentropy, or keras.utils.to_categorical(labels)"
        )
    if smoothing:
        t = t * (1.0 - smoothing) + smoothing / p.shape[axis]
    if logits:
        if axis in (-1, p.ndim - 1):
            return _core._cross_entropy_dense_rows(p, t)
        return -pm.sum(t * pm.log_softmax(p, axis=axis), axis=axis)
    p = p / pm.sum(p, axis=axis, keepdims=True)
    p = pm.clip(p, epsilon(), 1.0 - epsilon())
    return -pm.sum(t * pm.log(p), axis=axis)


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Any:
    y_pred, from_logits = logits_of(y_pred, from_logits, "softmax")
    return _categorical(y_true, y_pred, from_logits, float(label_smoothing), axis)


def labels_for(t: pm.Tensor, p: pm.Tensor) -> pm.Tensor:
    """Labels as integers without a last dimension of 1."""
    if t.ndim == p.ndim and t.shape[-1] == 1:
        t = t.reshape(t.shape[:-1])
    if tuple(t.shape) != tuple(p.shape[:-1]):
        raise ValueError(
            "Argument `output` must have rank (ndim) `target.ndim - 1`. Received: "
            f"target.shape={tuple(t.shape)}, output.shape={tuple(p.shape)}"
        )
    return t if t.dtype in (pm.i32, pm.i64) else pm.cast(t, pm.i64)


@op
def _sparse(t: pm.Tensor, p: pm.Tensor, logits: bool, ignored: int | None) -> pm.Tensor:
    t = labels_for(t, p)
    if not logits:
        p = pm.log(pm.clip(p, epsilon(), 1.0 - epsilon()))
    if ignored is not None:
        t = pm.where(t == ignored, pm.zeros_like(t) - 100, t)
    return _core._cross_entropy_rows(p, t)


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, ignore_class: int | None = None, axis: int = -1
) -> Any:
    if axis != -1:
        raise ValueError(f"Only axis=-1 is currently supported. Received: axis={axis}")
    y_pred, from_logits = logits_of(y_pred, from_logits, "softmax")
    found = _sparse(y_true, y_pred, from_logits, ignore_class)
    if ignore_class is not None:  # a mean over elements leaves these out
        found = wrap(raw(found))
        found._keras_mask = wrap(raw(_counted(y_true, y_pred, ignore_class)))
    return found


@op
def _counted(t: pm.Tensor, p: pm.Tensor, ignored: int) -> pm.Tensor:
    return labels_for(t, p) != ignored


@op
def binary_focal_crossentropy(
    y_true: pm.Tensor, y_pred: pm.Tensor, apply_class_balancing: bool = False, alpha: float = 0.25,
    gamma: float = 2.0, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1,
) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    if label_smoothing:
        t = t * (1.0 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        p = pm.sigmoid(p)
    clipped = pm.clip(p, epsilon(), 1.0 - epsilon())
    losses = -(t * pm.log(clipped) + (1.0 - t) * pm.log(1.0 - clipped))
    right = t * p + (1.0 - t) * (1.0 - p)
    losses = pm.pow(1.0 - right, gamma) * losses
    if apply_class_balancing:
        losses = losses * (t * alpha + (1.0 - t) * (1.0 - alpha))
    return pm.mean(losses, axis=axis)


@op
def categorical_focal_crossentropy(
    y_true: pm.Tensor, y_pred: pm.Tensor, alpha: Any = 0.25, gamma: float = 2.0,
    from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1,
) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    if label_smoothing:
        t = t * (1.0 - label_smoothing) + label_smoothing / p.shape[-1]
    if from_logits:
        p = pm.softmax(p, axis=axis)
    p = p / pm.sum(p, axis=axis, keepdims=True)
    p = pm.clip(p, epsilon(), 1.0 - epsilon())
    weights = pm.pow(1.0 - p, gamma) * (pm.tensor(alpha) if isinstance(alpha, (list, tuple)) else alpha)
    return pm.sum(weights * (-t * pm.log(p)), axis=axis)


def _sum(x: pm.Tensor, axis: Any) -> pm.Tensor:
    if axis is None:
        return pm.sum(x)
    for each in sorted(([axis] if isinstance(axis, int) else list(axis)), reverse=True):
        x = pm.sum(x, axis=each)
    return x


@op
def dice(y_true: pm.Tensor, y_pred: pm.Tensor, axis: Any = None) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    both = _sum(t * p, axis)
    return 1.0 - both * 2.0 / (_sum(t, axis) + _sum(p, axis) + epsilon())


@op
def tversky(
    y_true: pm.Tensor, y_pred: pm.Tensor, alpha: float = 0.5, beta: float = 0.5, axis: Any = None
) -> pm.Tensor:
    t, p = prepared(y_true, y_pred)
    both = _sum(t * p, axis)
    missed, wrong = _sum((1.0 - p) * t, axis), _sum(p * (1.0 - t), axis)
    return 1.0 - both / (both + missed * alpha + wrong * beta + epsilon())


@op
def ctc(y_true: pm.Tensor, y_pred: pm.Tensor) -> pm.Tensor:
    """Of labels [n, most] that are padded with 0, which is the blank, and logits [n, steps, classes]."""
    if y_true.ndim != 2 or y_pred.ndim != 3:
        raise ValueError(f"Targets `y_true` must be a tensor of shape `(batch_size, max_length)` and outputs `y_pred` "
                         f"one of shape `(batch_size, max_length, num_classes)`. Received: {list(y_true.shape)} and "
                         f"{list(y_pred.shape)}")
    labels = pm.cast(y_true, pm.i64)
    count = pm.sum(pm.cast(labels != 0, pm.i64), axis=1)
    return pm.nn.ctc_loss(y_pred, labels, None, count, reduction="none")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mean_squared_error": mean_squared_error, "mean_absolute_error": mean_absolute_error,
    "mean_absolute_percentage_error": mean_absolute_percentage_error,
    "mean_squared_logarithmic_error": mean_squared_logarithmic_error, "huber": huber,
    "log_cosh": log_cosh, "hinge": hinge, "squared_hinge": squared_hinge,
    "categorical_hinge": categorical_hinge, "kl_divergence": kl_divergence, "poisson": poisson,
    "cosine_similarity": cosine_similarity, "binary_crossentropy": binary_crossentropy,
    "categorical_crossentropy": categorical_crossentropy,
    "sparse_categorical_crossentropy": sparse_categorical_crossentropy,
    "binary_focal_crossentropy": binary_focal_crossentropy,
    "categorical_focal_crossentropy": categorical_focal_crossentropy, "dice": dice,
    "tversky": tversky, "ctc": ctc,
}
SHORT = {
    "mse": "mean_squared_error", "MSE": "mean_squared_error", "mae": "mean_absolute_error",
    "MAE": "mean_absolute_error", "mape": "mean_absolute_percentage_error",
    "MAPE": "mean_absolute_percentage_error", "msle": "mean_squared_logarithmic_error",
    "MSLE": "mean_squared_logarithmic_error", "kld": "kl_divergence", "KLD": "kl_divergence",
    "kullback_leibler_divergence": "kl_divergence", "logcosh": "log_cosh", "bce": "binary_crossentropy",
    "BCE": "binary_crossentropy",
}
