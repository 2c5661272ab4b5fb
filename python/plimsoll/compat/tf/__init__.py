"""TensorFlow's API over Plimsoll: `import plimsoll.compat.tf as tf`, and scripts run within a budget.

What is not supported raises NotImplementedError and names the nearest way; docs/from-tensorflow.md.
"""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

from plimsoll._traceback import trim_uncaught as _trim_uncaught

from . import _names

__version__ = "2.21.0"
newaxis = None
version = _names.Version()

_MODULES = (
    "audio", "autodiff", "autograph", "bitwise", "compat", "config", "data", "debugging", "distribute",
    "dtypes", "errors", "experimental", "feature_column", "image", "initializers", "io", "keras",
    "linalg", "lookup", "losses", "math", "metrics", "nest", "nn", "optimizers", "profiler",
    "quantization", "queue", "ragged", "random", "raw_ops", "saved_model", "sets", "signal", "sparse",
    "strings", "summary", "sysconfig", "test", "tpu", "train", "types", "xla",
)

_trim_uncaught()


def __getattr__(name: str) -> _Any:
    if name.startswith("_"):
        raise AttributeError(name)
    found = _names.find(name)
    if found is None and name in _MODULES:
        try:
            found = _importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            if name in ("initializers", "losses", "metrics", "optimizers"):
                found = _importlib.import_module(f"{__name__}.keras.{name}")
    if found is None:
        _names.missing(f"tf.{name}", __dir__())
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*_names.all_names(), *_MODULES})
