"""tf.compat.v1.metrics: means over batches in local variables, as a value and the op that updates it."""

from __future__ import annotations

from typing import Any

from ..._arrays import size
from ..._dtypes import float32
from ..._errors import unsupported
from ..._math import cast, divide_no_nan
from ..._names import absent
from ..._operators import abs as _abs, equal, logical_and, sqrt, square
from ..._reduce import reduce_sum
from ..._variable import Variable


def _mean(values: Any, weights: Any, name: str, finish: Any = None) -> tuple[Any, Any]:
    """The mean of all values so far: total over count."""
    values = cast(values, float32)
    if weights is not None:
        weights = cast(weights, float32) + values * 0.0
        values = values * weights
    total, count = (Variable(0.0, trainable=False, name=f"{name}/{each}", collections=["local_variables"])
                    for each in ("total", "count"))
    more = reduce_sum(weights) if weights is not None else cast(size(values), float32)
    update = divide_no_nan(total.assign_add(reduce_sum(values)), count.assign_add(more))
    value = divide_no_nan(total.read_value(), count.read_value())
    return (value, update) if finish is None else (finish(value), finish(update))


def _given(metrics_collections: Any, updates_collections: Any) -> None:
    if metrics_collections is not None or updates_collections is not None:
        unsupported("tf.compat.v1.metrics", "metrics_collections, updates_collections", "keep what it returns")


def mean(values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    _given(metrics_collections, updates_collections)
    return _mean(values, weights, name or "mean")


def accuracy(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """How often predictions equal labels."""
    _given(metrics_collections, updates_collections)
    return _mean(equal(cast(predictions, labels.dtype), labels), weights, name or "accuracy")


def mean_absolute_error(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    _given(metrics_collections, updates_collections)
    return _mean(_abs(predictions - labels), weights, name or "mean_absolute_error")


def mean_squared_error(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    _given(metrics_collections, updates_collections)
    return _mean(square(predictions - labels), weights, name or "mean_squared_error")


def root_mean_squared_error(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    _given(metrics_collections, updates_collections)
    return _mean(square(predictions - labels), weights, name or "root_mean_squared_error", sqrt)


def precision(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """How many of the predicted ones are right."""
    _given(metrics_collections, updates_collections)
    said, true = cast(predictions, "bool"), cast(labels, "bool")
    kept = cast(said, float32) if weights is None else cast(said, float32) * cast(weights, float32)
    return _mean(logical_and(said, true), kept, name or "precision")


def recall(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """How many of the true ones are found."""
    _given(metrics_collections, updates_collections)
    said, true = cast(predictions, "bool"), cast(labels, "bool")
    kept = cast(true, float32) if weights is None else cast(true, float32) * cast(weights, float32)
    return _mean(logical_and(said, true), kept, name or "recall")


__all__ = [
    "accuracy", "mean", "mean_absolute_error", "mean_squared_error", "precision", "recall", "root_mean_squared_error",
]


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(name)
    absent(f"tf.compat.v1.metrics.{name}", f"tf.compat.v1.metrics has {', '.join(__all__)}; tf.keras.metrics has more")
