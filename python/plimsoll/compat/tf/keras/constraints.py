"""What weights are brought back to after each step."""

from __future__ import annotations

from typing import Any, Sequence

import plimsoll as pm

from ._base import op
from ._config import Configured, lookup

__all__ = ["Constraint", "MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm", "deserialize", "get",
           "max_norm", "min_max_norm", "non_neg", "serialize", "unit_norm"]

Axis = int | Sequence[int]


class Constraint(Configured):
    def __call__(self, w: Any) -> Any:
        return w


def _norms(w: pm.Tensor, axis: Axis) -> pm.Tensor:
    axes = [axis] if isinstance(axis, int) else list(axis)
    total = pm.square(w)
    for each in axes:
        total = pm.sum(total, axis=each, keepdims=True)
    return pm.sqrt(total)


@op
def _max_norm(w: pm.Tensor, most: float, axis: Axis) -> pm.Tensor:
    norms = _norms(w, axis)
    return w * (pm.clip(norms, 0.0, most) / (norms + 1e-7))


@op
def _unit_norm(w: pm.Tensor, axis: Axis) -> pm.Tensor:
    return w / (_norms(w, axis) + 1e-7)


@op
def _min_max_norm(w: pm.Tensor, least: float, most: float, rate: float, axis: Axis) -> pm.Tensor:
    norms = _norms(w, axis)
    wanted = pm.clip(norms, least, most) * rate + norms * (1 - rate)
    return w * (wanted / (norms + 1e-7))


@op
def _non_neg(w: pm.Tensor) -> pm.Tensor:
    return pm.relu(w)


class MaxNorm(Constraint):
    def __init__(self, max_value: float = 2, axis: Axis = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Any:
        return _max_norm(w, float(self.max_value), self.axis)

    def get_config(self) -> dict[str, Any]:
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    def __call__(self, w: Any) -> Any:
        return _non_neg(w)


class UnitNorm(Constraint):
    def __init__(self, axis: Axis = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return _unit_norm(w, self.axis)

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Axis = 0
    ) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Any) -> Any:
        return _min_max_norm(w, float(self.min_value), float(self.max_value), self.rate, self.axis)

    def get_config(self) -> dict[str, Any]:
        return {"min_value": self.min_value, "max_value": self.max_value, "rate": self.rate,
                "axis": self.axis}


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm

_CLASSES = {"MaxNorm": MaxNorm, "NonNeg": NonNeg, "UnitNorm": UnitNorm, "MinMaxNorm": MinMaxNorm}


def get(identifier: Any) -> Any:
    return lookup(identifier, _CLASSES, "constraint")


def serialize(constraint: Constraint) -> dict[str, Any]:
    return constraint.serialized()


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    return get(config)


def __getattr__(name: str) -> Any:
    from .._names import missing

    missing(f"tf.keras.constraints.{name}", list(globals()))
