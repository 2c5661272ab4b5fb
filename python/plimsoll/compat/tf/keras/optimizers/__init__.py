"""Optimizers by object and by name."""

from __future__ import annotations

from typing import Any

from .._config import lookup
from . import schedules as schedules
from ._factored import Adafactor as Adafactor
from ._optimizer import Optimizer as Optimizer, add_squares as add_squares
from ._rules import (
    SGD as SGD, Adadelta as Adadelta, Adagrad as Adagrad, Adam as Adam, Adamax as Adamax,
    AdamW as AdamW, Ftrl as Ftrl, Lamb as Lamb, Lion as Lion, Nadam as Nadam, RMSprop as RMSprop,
)
from ._scaled import LossScaleOptimizer as LossScaleOptimizer

_CLASSES: dict[str, Any] = {
    each.__name__: each
    for each in (SGD, Adadelta, Adafactor, Adagrad, Adam, Adamax, AdamW, Ftrl, Lamb, Lion, Nadam, RMSprop,
                 LossScaleOptimizer)
}


def get(identifier: Any) -> Any:
    """An optimizer by name, class or configuration, or itself."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, str) and identifier.lower() == "muon":
        raise NotImplementedError(f"the optimizer {identifier!r} is not supported; use \"adamw\"")
    return lookup(identifier, _CLASSES, "optimizer")


def serialize(optimizer: Optimizer) -> dict[str, Any]:
    return optimizer.serialized()


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    return get(config)


def __getattr__(name: str) -> Any:
    if name == "Muon":
        raise NotImplementedError("keras.optimizers.Muon is not supported; use AdamW, or pm.optim")
    if name in ("legacy", "experimental"):  # spellings of Keras 2
        import sys

        return sys.modules[__name__]
    raise AttributeError(f"module 'keras.optimizers' has no attribute '{name}'")
