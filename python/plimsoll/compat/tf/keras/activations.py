"""Activations by name and as functions, as Keras 3 defines them."""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import plimsoll as pm

from ._base import op, with_logits
from ._config import get_custom_objects, registered_name, similar

__all__ = [
    "celu", "deserialize", "elu", "exponential", "gelu", "get", "glu", "hard_shrink", "hard_sigmoid",
    "hard_silu", "hard_swish", "hard_tanh", "leaky_relu", "linear", "log_sigmoid", "log_softmax",
    "mish", "relu", "relu6", "selu", "serialize", "sigmoid", "silu", "soft_shrink", "softmax",
    "softplus", "softsign", "sparse_plus", "sparsemax", "squareplus", "swish", "tanh", "tanh_shrink",
    "threshold",
]


@op
def relu(
    x: pm.Tensor, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> pm.Tensor:
    if threshold == 0.0 and max_value is None:
        return pm.relu(x) if negative_slope == 0.0 else pm.leaky_relu(x, negative_slope)
    below = (x - threshold) * negative_slope if negative_slope else pm.zeros_like(x)
    above = x if max_value is None else pm.minimum(x, max_value)
    return pm.where(x >= threshold, above, below) if threshold else pm.where(x > 0.0, above, below)


@op
def leaky_relu(x: pm.Tensor, negative_slope: float = 0.2) -> pm.Tensor:
    return pm.leaky_relu(x, negative_slope)


@op
def relu6(x: pm.Tensor) -> pm.Tensor:
    return pm.clip(x, 0.0, 6.0)


def softmax(x: Any, axis: int | Sequence[int] = -1) -> Any:
    result = _softmax(x, axis)
    return with_logits(result, "softmax", x) if axis == -1 else result


@op
def _softmax(x: pm.Tensor, axis: int | Sequence[int] = -1) -> pm.Tensor:
    if isinstance(axis, int):
        if x.ndim == 1 and axis in (0, -1):
            return pm.softmax(x, axis=0)
        return pm.softmax(x, axis=axis)
    axes = sorted(a % x.ndim for a in axis)
    rest = [d for d in range(x.ndim) if d not in axes]
    order = rest + axes
    moved = pm.transpose(x, order)
    flat = moved.reshape([x.shape[d] for d in rest] + [math.prod(x.shape[d] for d in axes)])
    result = pm.softmax(flat, axis=-1).reshape(moved.shape)
    return pm.transpose(result, [order.index(d) for d in range(x.ndim)])


@op
def log_softmax(x: pm.Tensor, axis: int = -1) -> pm.Tensor:
    return pm.log_softmax(x, axis=axis)


@op
def elu(x: pm.Tensor, alpha: float = 1.0) -> pm.Tensor:
    return pm.elu(x, alpha)


@op
def selu(x: pm.Tensor) -> pm.Tensor:
    return pm.elu(x, 1.6732632423543772) * 1.0507009873554805


@op
def celu(x: pm.Tensor, alpha: float = 1.0) -> pm.Tensor:
    return pm.maximum(x, 0.0) + alpha * (pm.exp(pm.minimum(x, 0.0) / alpha) - 1.0)


@op
def softplus(x: pm.Tensor) -> pm.Tensor:
    return pm.softplus(x)


@op
def softsign(x: pm.Tensor) -> pm.Tensor:
    return x / (pm.abs(x) + 1.0)


@op
def silu(x: pm.Tensor) -> pm.Tensor:
    return pm.silu(x)


swish = silu


@op
def gelu(x: pm.Tensor, approximate: bool = False) -> pm.Tensor:
    return pm.gelu(x, approximate=approximate)


@op
def tanh(x: pm.Tensor) -> pm.Tensor:
    return pm.tanh(x)


def sigmoid(x: Any) -> Any:
    return with_logits(_sigmoid(x), "sigmoid", x)


@op
def _sigmoid(x: pm.Tensor) -> pm.Tensor:
    return pm.sigmoid(x)


@op
def exponential(x: pm.Tensor) -> pm.Tensor:
    return pm.exp(x)


@op
def hard_sigmoid(x: pm.Tensor) -> pm.Tensor:
    return pm.clip(x / 6.0 + 0.5, 0.0, 1.0)


@op
def hard_silu(x: pm.Tensor) -> pm.Tensor:
    return x * pm.clip(x / 6.0 + 0.5, 0.0, 1.0)


hard_swish = hard_silu


@op
def hard_tanh(x: pm.Tensor) -> pm.Tensor:
    return pm.clip(x, -1.0, 1.0)


@op
def log_sigmoid(x: pm.Tensor) -> pm.Tensor:
    return -pm.softplus(-x)


@op
def mish(x: pm.Tensor) -> pm.Tensor:
    return x * pm.tanh(pm.softplus(x))


@op
def tanh_shrink(x: pm.Tensor) -> pm.Tensor:
    return x - pm.tanh(x)


@op
def soft_shrink(x: pm.Tensor, threshold: float = 0.5) -> pm.Tensor:
    return pm.maximum(x - threshold, 0.0) + pm.minimum(x + threshold, 0.0)


@op
def hard_shrink(x: pm.Tensor, threshold: float = 0.5) -> pm.Tensor:
    return pm.where(pm.abs(x) > threshold, x, pm.zeros_like(x))


@op
def threshold(x: pm.Tensor, threshold: float, default_value: float) -> pm.Tensor:
    return pm.where(x > threshold, x, pm.zeros_like(x) + default_value)


@op
def squareplus(x: pm.Tensor, b: float = 4) -> pm.Tensor:
    return (x + pm.sqrt(pm.square(x) + float(b))) * 0.5


@op
def sparse_plus(x: pm.Tensor) -> pm.Tensor:
    middle = pm.square(x + 1.0) * 0.25
    return pm.where(x <= -1.0, pm.zeros_like(x), pm.where(x < 1.0, middle, x))


@op
def glu(x: pm.Tensor, axis: int = -1) -> pm.Tensor:
    half = x.shape[axis] // 2
    first, second = pm.split(x, [half, half], axis=axis)
    return first * pm.sigmoid(second)


@op
def linear(x: pm.Tensor) -> pm.Tensor:
    return x


def sparsemax(x: Any, axis: int = -1) -> Any:
    raise NotImplementedError("keras.activations.sparsemax needs a sort; use softmax, or sparse_plus")


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: globals()[name] for name in __all__ if name not in ("get", "serialize", "deserialize")
}


def get(identifier: Any) -> Callable[..., Any]:
    """An activation by name, or any function; None is linear."""
    found: Any
    if identifier is None:
        return linear
    if isinstance(identifier, dict):
        identifier = identifier.get("config", identifier.get("class_name"))
    if isinstance(identifier, str):
        found = get_custom_objects().get(identifier) or _FUNCTIONS.get(identifier)
        if found is None:
            near = similar(identifier, _FUNCTIONS)
            raise ValueError(f"Could not interpret activation function identifier: {identifier}{near}")
        return found() if isinstance(found, type) else found  # type: ignore[no-any-return]
    if callable(identifier):
        found = identifier
        return found  # type: ignore[no-any-return]
    raise ValueError(f"Could not interpret activation function identifier: {identifier}")


def serialize(activation: Callable[..., Any]) -> Any:
    name = getattr(activation, "__name__", None)
    if name == "<lambda>":
        raise ValueError("a lambda cannot be written down; give the activation a name, and register it")
    if name is None:
        return {"class_name": type(activation).__name__, "config": {}}
    return registered_name(activation) if activation not in _FUNCTIONS.values() else name


def deserialize(config: Any, custom_objects: Any = None) -> Callable[..., Any]:
    return get(config)


def __getattr__(name: str) -> Any:
    from .._names import missing

    missing(f"tf.keras.activations.{name}", list(globals()))
