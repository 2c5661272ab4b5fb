"""Losses as objects and by name."""

from __future__ import annotations

import inspect
from typing import Any, Callable

import plimsoll as pm

from . import _loss_functions as functions
from ._base import name_of_dtype, op
from ._config import Configured, get_custom_objects, registered_name, similar, snake_case
from ._loss_functions import (
    binary_crossentropy, binary_focal_crossentropy, categorical_crossentropy,
    categorical_focal_crossentropy, categorical_hinge, cosine_similarity, ctc, dice, hinge, huber,
    kl_divergence, log_cosh, mean_absolute_error, mean_absolute_percentage_error, mean_squared_error,
    mean_squared_logarithmic_error, poisson, sparse_categorical_crossentropy, squared_hinge, tversky,
)

__all__ = [
    "BinaryCrossentropy", "BinaryFocalCrossentropy", "CTC", "CategoricalCrossentropy",
    "CategoricalFocalCrossentropy", "CategoricalHinge", "CosineSimilarity", "Dice", "Hinge", "Huber",
    "KLDivergence", "LogCosh", "Loss", "MAE", "MAPE", "MSE", "MSLE", "MeanAbsoluteError",
    "MeanAbsolutePercentageError", "MeanSquaredError", "MeanSquaredLogarithmicError", "Poisson",
    "Reduction", "SparseCategoricalCrossentropy", "SquaredHinge", "Tversky", "binary_crossentropy",
    "binary_focal_crossentropy", "categorical_crossentropy", "categorical_focal_crossentropy",
    "categorical_hinge", "cosine_similarity", "ctc", "deserialize", "dice", "get", "hinge", "huber",
    "kl_divergence", "kld", "log_cosh", "logcosh", "mae", "mape", "mean_absolute_error",
    "mean_absolute_percentage_error", "mean_squared_error", "mean_squared_logarithmic_error", "mse",
    "msle", "poisson", "serialize", "sparse_categorical_crossentropy", "squared_hinge", "tversky",
]

mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh

_REDUCTIONS = ("sum_over_batch_size", "sum", None, "none", "mean", "mean_with_sample_weight", "auto")


class Reduction:
    """The names of Keras 2."""

    AUTO = "sum_over_batch_size"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"


def weight_like(weight: pm.Tensor, values: pm.Tensor) -> pm.Tensor:
    """A weight per sample, broadcast over what each sample has."""
    weight = weight if weight.dtype == values.dtype else pm.cast(weight, values.dtype)
    while weight.ndim < values.ndim:
        weight = weight.reshape(tuple(weight.shape) + (1,))
    if weight.ndim > values.ndim and weight.shape[-1] == 1:
        weight = weight.reshape(weight.shape[:-1])
    return weight


def mask_of(y_pred: Any, values: Any) -> Any:
    """The mask of predictions and the one that a loss puts on its values (`ignore_class`), as one."""
    first, second = getattr(y_pred, "_keras_mask", None), getattr(values, "_keras_mask", None)
    return first if second is None else second if first is None else _both(first, second)


@op
def _both(a: pm.Tensor, b: pm.Tensor) -> pm.Tensor:
    return pm.cast(a, pm.f32) * pm.cast(b, pm.f32)


@op
def reduce_weighted(
    values: pm.Tensor, weight: pm.Tensor | None, mask: pm.Tensor | None, reduction: str | None
) -> pm.Tensor:
    """Keras's reduction of values per sample, with weights and a mask."""
    if mask is not None:
        on = mask if mask.dtype == values.dtype else pm.cast(mask, values.dtype)
        if reduction in ("mean", "sum_over_batch_size"):
            on = on * (float(on.size) / pm.maximum(pm.sum(on), 1.0))
        if weight is not None:
            weight = weight_like(weight, on) * on
        else:
            weight = on
    if weight is not None:
        weight = weight_like(weight, values)
        values = values * weight
    if reduction in (None, "none") or values.ndim == 0:
        return values
    total = pm.sum(values)
    if reduction == "sum":
        return total
    if reduction == "mean_with_sample_weight" and weight is not None:
        return total / pm.sum(pm.broadcast_to(weight, values.shape))
    return total / float(max(values.size, 1))


class Loss(Configured):
    """Base of all. A loss of one's own overrides call(y_true, y_pred)."""

    def __init__(
        self, name: str | None = None, reduction: str | None = "sum_over_batch_size", dtype: Any = None
    ) -> None:
        if reduction not in _REDUCTIONS:
            raise ValueError(
                f"Invalid value for argument `reduction`. Expected one of {_REDUCTIONS}. Received: "
                f"reduction={reduction}"
            )
        self.name = name or snake_case(type(self).__name__)
        self.reduction = "sum_over_batch_size" if reduction == "auto" else reduction
        self.dtype = name_of_dtype(dtype) if dtype is not None else "float32"

    def call(self, y_true: Any, y_pred: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no call(y_true, y_pred)")

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        values = self.call(y_true, y_pred)
        return reduce_weighted(values, sample_weight, mask_of(y_pred, values), self.reduction)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "reduction": self.reduction, "dtype": self.dtype}


class LossFunctionWrapper(Loss):
    """A function of (y_true, y_pred) as a loss."""

    def __init__(
        self, fn: Callable[..., Any], reduction: str | None = "sum_over_batch_size",
        name: str | None = None, dtype: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(name or getattr(fn, "__name__", None), reduction, dtype)
        self.fn = fn
        self._fn_kwargs = kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "fn": registered_name(self.fn), **self._fn_kwargs}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return cls(**({**config, "fn": get(config["fn"])} if "fn" in config else config))


def _made(
    class_name: str, fn: Callable[..., Any], name: str, **defaults: Any
) -> type[LossFunctionWrapper]:
    """A class of losses for a function: its own arguments first, then reduction and name."""
    own = list(defaults)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        order = own + ["reduction", "name", "dtype"]
        if len(args) > len(order):
            raise TypeError(f"{class_name} takes {', '.join(order)}")
        given = dict(zip(order, args))
        for key, value in kwargs.items():
            if key not in order or key in given:
                raise TypeError(f"{class_name} got an unexpected argument '{key}'; it takes {order}")
            given[key] = value
        options = {key: given.get(key, default) for key, default in defaults.items()}
        LossFunctionWrapper.__init__(
            self, fn, given.get("reduction", "sum_over_batch_size"), given.get("name") or name,
            given.get("dtype"), **options,
        )
        for key, value in options.items():
            setattr(self, key, value)

    def get_config(self: Any) -> dict[str, Any]:
        return {**Loss.get_config(self), **self._fn_kwargs}

    return type(class_name, (LossFunctionWrapper,), {
        "__init__": __init__, "get_config": get_config, "__doc__": f"{fn.__name__} as a loss.",
        "__module__": __name__,
    })


MeanSquaredError = _made("MeanSquaredError", mean_squared_error, "mean_squared_error")
MeanAbsoluteError = _made("MeanAbsoluteError", mean_absolute_error, "mean_absolute_error")
MeanAbsolutePercentageError = _made(
    "MeanAbsolutePercentageError", mean_absolute_percentage_error, "mean_absolute_percentage_error")
MeanSquaredLogarithmicError = _made(
    "MeanSquaredLogarithmicError", mean_squared_logarithmic_error, "mean_squared_logarithmic_error")
Huber = _made("Huber", huber, "huber_loss", delta=1.0)
LogCosh = _made("LogCosh", log_cosh, "log_cosh")
Hinge = _made("Hinge", hinge, "hinge")
SquaredHinge = _made("SquaredHinge", squared_hinge, "squared_hinge")
CategoricalHinge = _made("CategoricalHinge", categorical_hinge, "categorical_hinge")
KLDivergence = _made("KLDivergence", kl_divergence, "kl_divergence")
Poisson = _made("Poisson", poisson, "poisson")
CosineSimilarity = _made("CosineSimilarity", cosine_similarity, "cosine_similarity", axis=-1)
BinaryCrossentropy = _made(
    "BinaryCrossentropy", binary_crossentropy, "binary_crossentropy", from_logits=False,
    label_smoothing=0.0, axis=-1)
CategoricalCrossentropy = _made(
    "CategoricalCrossentropy", categorical_crossentropy, "categorical_crossentropy",
    from_logits=False, label_smoothing=0.0, axis=-1)
SparseCategoricalCrossentropy = _made(
    "SparseCategoricalCrossentropy", sparse_categorical_crossentropy,
    "sparse_categorical_crossentropy", from_logits=False, ignore_class=None, axis=-1)
BinaryFocalCrossentropy = _made(
    "BinaryFocalCrossentropy", binary_focal_crossentropy, "binary_focal_crossentropy",
    apply_class_balancing=False, alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0, axis=-1)
CategoricalFocalCrossentropy = _made(
    "CategoricalFocalCrossentropy", categorical_focal_crossentropy, "categorical_focal_crossentropy",
    alpha=0.25, gamma=2.0, from_logits=False, label_smoothing=0.0, axis=-1)
Dice = _made("Dice", dice, "dice", axis=None)
Tversky = _made("Tversky", tversky, "tversky", alpha=0.5, beta=0.5, axis=None)
CTC = _made("CTC", ctc, "ctc")

_CLASSES: dict[str, Any] = {
    each.__name__: each
    for each in (
        MeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError, MeanSquaredLogarithmicError,
        Huber, LogCosh, Hinge, SquaredHinge, CategoricalHinge, KLDivergence, Poisson, CosineSimilarity,
        BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy,
        BinaryFocalCrossentropy, CategoricalFocalCrossentropy, Dice, Tversky, CTC, LossFunctionWrapper,
    )
}


def get(identifier: Any) -> Any:
    """A loss by name (a function), by configuration or class (an object), or itself."""
    if identifier is None or (callable(identifier) and not inspect.isclass(identifier)):
        return identifier
    if inspect.isclass(identifier):
        return identifier()
    if isinstance(identifier, dict):
        name = identifier["class_name"]
        found: Any = get_custom_objects().get(name) or _CLASSES.get(name)
        if found is None:
            raise ValueError(f"Unknown loss: '{name}'. Pass it in custom_objects.")
        made: Any = found
        return made.from_config(identifier.get("config", {})) if inspect.isclass(found) else found
    if isinstance(identifier, str):
        name = functions.SHORT.get(identifier, identifier)
        found = get_custom_objects().get(name) or functions.FUNCTIONS.get(name) or _CLASSES.get(name)
        if found is not None:
            return found() if inspect.isclass(found) else found
    near = similar(identifier, [*functions.FUNCTIONS, *functions.SHORT, *_CLASSES])
    raise ValueError(f"Could not interpret loss identifier: {identifier}{near}")


def serialize(loss: Any) -> Any:
    return loss.serialized() if isinstance(loss, Loss) else registered_name(loss)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    return get(name)


def __getattr__(name: str) -> Any:
    from .._names import missing

    missing(f"tf.keras.losses.{name}", list(globals()))
