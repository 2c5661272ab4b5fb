"""tf.keras over Plimsoll: Keras's models, trained within a budget.

>>> model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
>>> model.compile("adam", "mse")
>>> model.fit(x, y, epochs=3)
"""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

from . import (
    activations as activations, backend as backend, callbacks as callbacks, constraints as constraints,
    initializers as initializers, layers as layers, losses as losses, metrics as metrics,
    mixed_precision as mixed_precision, models as models, optimizers as optimizers,
    regularizers as regularizers, utils as utils,
)
from .initializers import Initializer as Initializer
from .layers import Input as Input, Layer as Layer
from .losses import Loss as Loss
from .metrics import Metric as Metric
from .mixed_precision import DTypePolicy as DTypePolicy
from .models import Functional as Functional, Model as Model, Sequential as Sequential
from .optimizers import Optimizer as Optimizer
from .regularizers import Regularizer as Regularizer

__version__ = "3.15.0"

_LATER = ("applications", "config", "datasets", "ops", "preprocessing", "random", "saving")


def version() -> str:
    return __version__


def __getattr__(name: str) -> _Any:
    if name in _LATER:
        return _importlib.import_module(f"{__name__}.{name}")
    if name == "dtype_policies":
        return mixed_precision
    if name == "InputSpec":
        from ._utilities import InputSpec

        return InputSpec
    if name == "name_scope":
        from .._control import name_scope

        return name_scope
    if name == "Variable":
        from ._weight import KerasVariable

        return KerasVariable
    if name == "KerasTensor":
        from .._tensor import Tensor

        return Tensor
    if name.startswith("__"):
        raise AttributeError(name)
    from .._names import missing

    missing(f"tf.keras.{name}", [*globals(), *_LATER])
