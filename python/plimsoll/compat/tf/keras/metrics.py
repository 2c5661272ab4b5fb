"""Metrics as objects and by name: state in variables, which a planned step updates."""

from __future__ import annotations

import inspect
from typing import Any, Callable

import numpy as np

import plimsoll as pm

from . import _loss_functions as functions
from . import _metric_functions, initializers, losses
from ._base import name_of_dtype, raw, read, unique_name, variable, wrap, write
from ._config import Configured, get_custom_objects, registered_name, similar, snake_case
from ._loss_functions import same_rank
from ._metric_functions import (
    accuracy, binary_accuracy, categorical_accuracy, sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy, top_k_categorical_accuracy,
)
from .losses import weight_like


class Metric(Configured):
    """Base of all. One of one's own declares variables with add_weight or add_variable in __init__,
    and has update_state(y_true, y_pred, sample_weight) and result()."""

    def __init__(self, dtype: Any = None, name: str | None = None, **kwargs: Any) -> None:
        if isinstance(dtype, str) and name is None and dtype not in _DTYPE_NAMES:
            dtype, name = None, dtype  # Keras 2 had the name first
        self.name = name or unique_name(snake_case(type(self).__name__))
        self._dtype = name_of_dtype(dtype) if dtype is not None else "float32"
        self._variables: list[Any] = []
        self._nested: list[Metric] = []

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Metric) and name != "_nested":
            self.__dict__.setdefault("_nested", []).append(value)
        object.__setattr__(self, name, value)

    @property
    def dtype(self) -> str:
        return self._dtype

    @property
    def variables(self) -> list[Any]:
        return self._variables + [v for each in self._nested for v in each.variables]

    weights = variables

    def add_variable(
        self, shape: Any = (), initializer: Any = None, dtype: Any = None, aggregation: Any = None,
        layout: Any = None, name: str | None = None,
    ) -> Any:
        first = initializers.get(initializer or "zeros")
        assert first is not None
        if isinstance(shape, int):
            shape = (shape,)
        made = variable(first(tuple(shape)), name=name or "variable", trainable=False,
                        dtype=dtype or self._dtype)
        self._variables.append(made)
        return made

    def add_weight(
        self, name: str | None = None, shape: Any = (), initializer: Any = None, dtype: Any = None,
        **kwargs: Any,
    ) -> Any:
        if isinstance(name, (tuple, list)):
            name, shape = (shape if isinstance(shape, str) else None), name
        return self.add_variable(shape, initializer, dtype, name=name)

    def reset_state(self) -> None:
        for each in self.variables:
            each.assign(np.zeros([int(n) for n in each.shape], np.float32))

    def reset_states(self) -> None:
        self.reset_state()

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no update_state()")

    def result(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no result()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.update_state(*args, **kwargs)
        return self.result()

    def stateless_reset_state(self) -> Any:
        raise NotImplementedError("stateless metrics are for Keras's other backends; use reset_state()")

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


_DTYPE_NAMES = ("float16", "float32", "float64", "bfloat16", "int32", "int64")


class _Reducing(Metric):
    """Sums that are kept over batches."""

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(dtype=dtype, name=name)
        self.total = self.add_variable((), name="total")


def _weighted_sum(values: pm.Tensor, weight: pm.Tensor | None, mask: Any = None) -> tuple[Any, Any]:
    """The sum of values by weight, and the sum of weights, for each sample."""
    if values.dtype != pm.f32:
        values = pm.cast(values, pm.f32)
    if mask is not None:
        on = pm.cast(mask, values.dtype)
        weight = on if weight is None else on * weight_like(weight, on)
    if weight is None:
        return pm.sum(values), float(values.size)
    weight = weight_like(weight, values)
    if weight.ndim < values.ndim or tuple(weight.shape) != tuple(values.shape):
        weight = pm.broadcast_to(weight, values.shape)
    return pm.sum(values * weight), pm.sum(weight)


def _maybe(x: Any) -> Any:
    return None if x is None else raw(x)


class Sum(_Reducing):
    """The sum of all values."""

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        total, _ = _weighted_sum(raw(values), _maybe(sample_weight), _mask_of(values))
        write(self.total, read(self.total) + total)

    def result(self) -> Any:
        return wrap(read(self.total) * 1.0)


def _mask_of(x: Any) -> Any:
    return _maybe(getattr(x, "_keras_mask", None))


class Mean(_Reducing):
    """The mean of all values.

    >>> m = tf.keras.metrics.Mean(); m.update_state([1.0, 3.0]); m.result().numpy()
    """

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.count = self.add_variable((), name="count")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        self._add(raw(values), _maybe(sample_weight), _mask_of(values))

    def _add(self, values: pm.Tensor, weight: pm.Tensor | None, mask: Any) -> None:
        total, count = _weighted_sum(values, weight, mask)
        write(self.total, read(self.total) + total)
        write(self.count, read(self.count) + count)

    def result(self) -> Any:
        return wrap(_ratio(read(self.total), read(self.count)))


def _ratio(a: pm.Tensor, b: pm.Tensor) -> pm.Tensor:
    """a / b, and 0 where b is 0."""
    none = b == 0.0
    return pm.where(none, pm.zeros_like(a), a / pm.where(none, pm.ones_like(b), b))


class MeanMetricWrapper(Mean):
    """The mean of a function of (y_true, y_pred)."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name or getattr(fn, "__name__", None), dtype)
        self._fn = fn
        self._fn_kwargs = kwargs

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> None:
        values = self._fn(y_true, y_pred, **self._fn_kwargs)
        mask = _mask_of(y_pred)
        self._add(raw(values), _maybe(sample_weight), mask)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "fn": registered_name(self._fn), **self._fn_kwargs}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return cls(**({**config, "fn": _function(config["fn"])} if "fn" in config else config))


def _function(name: Any) -> Any:
    """A function of (y_true, y_pred) by the name that get_config gave it."""
    return getattr(_metric_functions, name, None) or losses.get(name) if isinstance(name, str) else name


def _made(class_name: str, fn: Callable[..., Any], name: str, **defaults: Any) -> type[Mean]:
    """A class of metrics for a function: name, dtype and the function's own arguments."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        own = list(defaults)
        order = (own[:1] if class_name.endswith("KCategoricalAccuracy") else []) + ["name", "dtype"]
        order += [each for each in own if each not in order]
        given = dict(zip(order, args))
        for key, value in kwargs.items():
            if key not in order:
                raise TypeError(f"{class_name} got an unexpected argument '{key}'; it takes {order}")
            given[key] = value
        options = {key: given.get(key, default) for key, default in defaults.items()}
        MeanMetricWrapper.__init__(self, fn, given.get("name") or name, given.get("dtype"), **options)

    def get_config(self: Any) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype, **self._fn_kwargs}

    return type(class_name, (MeanMetricWrapper,), {
        "__init__": __init__, "get_config": get_config, "__module__": __name__,
        "__doc__": f"The mean of {fn.__name__}.",
    })


def _similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    return -functions.cosine_similarity(y_true, y_pred, axis=axis)


Accuracy = _made("Accuracy", accuracy, "accuracy")
BinaryAccuracy = _made("BinaryAccuracy", binary_accuracy, "binary_accuracy", threshold=0.5)
CategoricalAccuracy = _made("CategoricalAccuracy", categorical_accuracy, "categorical_accuracy")
SparseCategoricalAccuracy = _made(
    "SparseCategoricalAccuracy", sparse_categorical_accuracy, "sparse_categorical_accuracy")
TopKCategoricalAccuracy = _made(
    "TopKCategoricalAccuracy", top_k_categorical_accuracy, "top_k_categorical_accuracy", k=5)
SparseTopKCategoricalAccuracy = _made(
    "SparseTopKCategoricalAccuracy", sparse_top_k_categorical_accuracy,
    "sparse_top_k_categorical_accuracy", k=5)
MeanSquaredError = _made("MeanSquaredError", functions.mean_squared_error, "mean_squared_error")
MeanAbsoluteError = _made("MeanAbsoluteError", functions.mean_absolute_error, "mean_absolute_error")
MeanAbsolutePercentageError = _made(
    "MeanAbsolutePercentageError", functions.mean_absolute_percentage_error,
    "mean_absolute_percentage_error")
MeanSquaredLogarithmicError = _made(
    "MeanSquaredLogarithmicError", functions.mean_squared_logarithmic_error,
    "mean_squared_logarithmic_error")
LogCoshError = _made("LogCoshError", functions.log_cosh, "logcosh")
CosineSimilarity = _made("CosineSimilarity", _similarity, "cosine_similarity", axis=-1)
Hinge = _made("Hinge", functions.hinge, "hinge")
SquaredHinge = _made("SquaredHinge", functions.squared_hinge, "squared_hinge")
CategoricalHinge = _made("CategoricalHinge", functions.categorical_hinge, "categorical_hinge")
KLDivergence = _made("KLDivergence", functions.kl_divergence, "kl_divergence")
Poisson = _made("Poisson", functions.poisson, "poisson")
BinaryCrossentropy = _made(
    "BinaryCrossentropy", functions.binary_crossentropy, "binary_crossentropy", from_logits=False,
    label_smoothing=0)
CategoricalCrossentropy = _made(
    "CategoricalCrossentropy", functions.categorical_crossentropy, "categorical_crossentropy",
    from_logits=False, label_smoothing=0, axis=-1)
SparseCategoricalCrossentropy = _made(
    "SparseCategoricalCrossentropy", functions.sparse_categorical_crossentropy,
    "sparse_categorical_crossentropy", from_logits=False, axis=-1)


class RootMeanSquaredError(Mean):
    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> None:
        p = raw(y_pred)
        t = raw(y_true)
        t, p = same_rank(t if t.dtype == p.dtype else pm.cast(t, p.dtype), p)
        self._add(pm.square(p - t), _maybe(sample_weight), _mask_of(y_pred))

    def result(self) -> Any:
        return wrap(pm.sqrt(_ratio(read(self.total), read(self.count))))


class R2Score(Metric):
    """1 minus the share of the variance that is not explained."""

    def __init__(
        self, class_aggregation: str | None = "uniform_average", num_regressors: int = 0,
        name: str | None = "r2_score", dtype: Any = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        if num_regressors:
            raise NotImplementedError("R2Score(num_regressors=...) is not supported; leave it at 0")
        self.class_aggregation = class_aggregation
        self._built = False

    def _build(self, columns: int) -> None:
        names = ("squared_sum", "sum", "residual", "count")
        self.squared, self.total, self.residual, self.samples = (
            self.add_variable((columns,), name=each) for each in names
        )
        self._built = True

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        t, p = same_rank(*(each if each.dtype == pm.f32 else pm.cast(each, pm.f32) for each in (raw(y_true), raw(y_pred))))
        if p.ndim == 1:
            t, p = t.reshape((t.size, 1)), p.reshape((p.size, 1))
        if not self._built:
            self._build(int(p.shape[-1]))
        w = pm.ones_like(p) if sample_weight is None else pm.broadcast_to(
            weight_like(raw(sample_weight), p), p.shape)
        for state, value in (
            (self.squared, pm.square(t) * w), (self.total, t * w),
            (self.residual, pm.square(t - p) * w), (self.samples, w),
        ):
            write(state, read(state) + pm.sum(value, axis=0))

    def result(self) -> Any:
        if not self._built:
            return wrap(pm.zeros(()))
        mean = read(self.total) / read(self.samples)
        spread = read(self.squared) - read(self.total) * mean
        scores = 1.0 - read(self.residual) / spread
        if self.class_aggregation == "uniform_average":
            return wrap(pm.mean(scores))
        if self.class_aggregation == "variance_weighted_average":
            return wrap(pm.sum(scores * spread) / pm.sum(spread))
        return wrap(scores)

    def reset_state(self) -> None:
        if self._built:
            super().reset_state()

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "class_aggregation": self.class_aggregation, "num_regressors": 0}


class MeanTensor(Metric):
    """The mean of tensors of one shape, element by element."""

    def __init__(self, name: str | None = "mean_tensor", dtype: Any = None, shape: Any = None) -> None:
        super().__init__(dtype=dtype, name=name)
        self._built = False
        self._shape = shape
        if shape is not None:
            self._build(tuple(shape))

    def _build(self, shape: tuple[int, ...]) -> None:
        self.total = self.add_variable(shape, name="total")
        self.count = self.add_variable(shape, name="count")
        self._built = True

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        given = raw(values)
        if not self._built:
            self._build(tuple(given.shape))
        weight = pm.ones_like(given) if sample_weight is None else pm.broadcast_to(
            weight_like(raw(sample_weight), given), given.shape)
        write(self.total, read(self.total) + given * weight)
        write(self.count, read(self.count) + weight)

    def result(self) -> Any:
        return wrap(_ratio(read(self.total), read(self.count)))

    def reset_state(self) -> None:
        if self._built:
            super().reset_state()

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "shape": None if self._shape is None else list(self._shape)}


from ._confusion import (  # noqa: E402  (they derive from Metric)
    AUC, BinaryIoU, F1Score, FalseNegatives, FalsePositives, FBetaScore, IoU, MeanIoU, OneHotIoU,
    OneHotMeanIoU, Precision, Recall, TrueNegatives, TruePositives,
)

from ._at_thresholds import (  # noqa: E402
    PrecisionAtRecall, RecallAtPrecision, SensitivityAtSpecificity, SpecificityAtSensitivity,
)

mse = MSE = functions.mean_squared_error
mae = MAE = functions.mean_absolute_error
mape = MAPE = functions.mean_absolute_percentage_error
msle = MSLE = functions.mean_squared_logarithmic_error
mean_squared_error, mean_absolute_error = mse, mae
binary_crossentropy = functions.binary_crossentropy
categorical_crossentropy = functions.categorical_crossentropy
sparse_categorical_crossentropy = functions.sparse_categorical_crossentropy

_CLASSES: dict[str, Any] = {
    name: each for name, each in list(globals().items())
    if inspect.isclass(each) and issubclass(each, Metric)
}
_BY_NAME = {
    "mse": "MeanSquaredError", "MSE": "MeanSquaredError", "mae": "MeanAbsoluteError",
    "MAE": "MeanAbsoluteError", "mape": "MeanAbsolutePercentageError",
    "MAPE": "MeanAbsolutePercentageError", "msle": "MeanSquaredLogarithmicError",
    "MSLE": "MeanSquaredLogarithmicError", "cosine": "CosineSimilarity", "auc": "AUC",
    "logcosh": "LogCoshError", "rmse": "RootMeanSquaredError", "bce": "BinaryCrossentropy",
    "kld": "KLDivergence", "iou": "IoU", "mean_io_u": "MeanIoU", "f1_score": "F1Score",
    "fbeta_score": "FBetaScore", "r2_score": "R2Score", "auc_metric": "AUC",
}


def get(identifier: Any) -> Any:
    """A metric by name, configuration or class; functions and objects as they are."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        found = get_custom_objects().get(identifier["class_name"]) or _CLASSES.get(
            identifier["class_name"])
        if found is None and identifier["class_name"] in losses._CLASSES:
            return losses.get(identifier)
        if found is None:
            raise ValueError(f"Unknown metric: '{identifier['class_name']}'")
        return found.from_config(identifier.get("config", {}))
    if isinstance(identifier, str):
        found = get_custom_objects().get(identifier)
        if found is None:
            found = _CLASSES.get(_BY_NAME.get(identifier, identifier))
        if found is None:
            for name, each in _CLASSES.items():
                if snake_case(name) == identifier:
                    found = each
        if found is None:
            near = similar(identifier, ["accuracy", *_BY_NAME, *_CLASSES, *map(snake_case, _CLASSES)])
            raise ValueError(f"Could not interpret metric identifier: {identifier}{near}")
        return found() if inspect.isclass(found) else found
    if inspect.isclass(identifier):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric identifier: {identifier}")


def serialize(metric: Any) -> Any:
    return metric.serialized() if isinstance(metric, Metric) else registered_name(metric)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    return get(config)


__all__ = sorted(
    [name for name in _CLASSES if not name.startswith("_")]
    + ["accuracy", "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy",
       "top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy", "get", "serialize",
       "deserialize", "mse", "MSE", "mae", "MAE", "mape", "MAPE", "msle", "MSLE", "mean_squared_error",
       "mean_absolute_error", "binary_crossentropy", "categorical_crossentropy",
       "sparse_categorical_crossentropy"]
)


def __getattr__(name: str) -> Any:
    from .._names import missing

    found = functions.FUNCTIONS.get(functions.SHORT.get(name, {"kullback_leibler_divergence": "kl_divergence"}.get(name, name)))
    if found is not None:
        return found
    missing(f"tf.keras.metrics.{name}", list(globals()))
