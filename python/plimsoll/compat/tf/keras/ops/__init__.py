"""keras.ops: functions by NumPy's names with Keras's rules, eager, traced or symbolic."""

from __future__ import annotations

from typing import Any

from . import core as core, image as image, linalg as linalg, math as math, nn as nn, numpy as numpy

_MODULES = (core, numpy, math, nn)


def _public(module: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if not name.startswith("_") and callable(value)
            and getattr(value, "__module__", "").startswith(__package__)}


for _module in reversed(_MODULES):
    globals().update(_public(_module))
abs, all, any, max, min, sum, round = (  # noqa: A001
    numpy.abs, numpy.all, numpy.any, numpy.max, numpy.min, numpy.sum, numpy.round)
del _module


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from ..._names import missing

    missing(f"keras.ops.{name}", [each for module in _MODULES for each in _public(module)])
