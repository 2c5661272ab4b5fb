"""Penalties on weights and outputs, which fit() adds to the loss."""

from __future__ import annotations

from typing import Any

import plimsoll as pm

from ._base import op
from ._config import Configured, lookup

__all__ = ["L1", "L1L2", "L2", "OrthogonalRegularizer", "Regularizer", "deserialize", "get", "l1",
           "l1_l2", "l2", "serialize"]


class Regularizer(Configured):
    def __call__(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __call__(x)")


class L1L2(Regularizer):
    def __init__(self, l1: float | None = 0.0, l2: float | None = 0.0) -> None:
        self.l1 = 0.0 if l1 is None else float(l1)
        self.l2 = 0.0 if l2 is None else float(l2)

    def __call__(self, x: Any) -> Any:
        return _l1_l2(x, self.l1, self.l2)

    def get_config(self) -> dict[str, Any]:
        return {"l1": self.l1, "l2": self.l2}


@op
def _l1_l2(x: pm.Tensor, l1: float, l2: float) -> pm.Tensor:
    found: pm.Tensor | None = None
    if l1:
        found = pm.sum(pm.abs(x)) * l1
    if l2:
        squares = pm.sum(pm.square(x)) * l2
        found = squares if found is None else found + squares
    return pm.zeros((), dtype=x.dtype) if found is None else found


class L1(L1L2):
    def __init__(self, l1: float | None = 0.01) -> None:
        super().__init__(l1=0.01 if l1 is None else l1)

    def get_config(self) -> dict[str, Any]:
        return {"l1": self.l1}


class L2(L1L2):
    def __init__(self, l2: float | None = 0.01) -> None:
        super().__init__(l2=0.01 if l2 is None else l2)

    def get_config(self) -> dict[str, Any]:
        return {"l2": self.l2}


class OrthogonalRegularizer(Regularizer):
    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        self.factor, self.mode = factor, mode

    def __call__(self, x: Any) -> Any:
        return _orthogonal(x, self.factor, self.mode)

    def get_config(self) -> dict[str, Any]:
        return {"factor": self.factor, "mode": self.mode}


@op
def _orthogonal(x: pm.Tensor, factor: float, mode: str) -> pm.Tensor:
    axis = 1 if mode == "rows" else 0
    squares = pm.sum(pm.square(x), axis=axis, keepdims=True)
    x = x * pm.rsqrt(pm.maximum(squares, 1e-12))
    other = pm.transpose(x)
    product = pm.matmul(x, other) if mode == "rows" else pm.matmul(other, x)
    size = x.shape[0] if mode == "rows" else x.shape[1]
    without = pm.sum(pm.abs(product * (1 - pm.eye(size))))
    return without * (factor * 0.5 / (size * (size - 1.0) / 2.0))


def l1(l1: float = 0.01) -> L1:
    return L1(l1)


def l2(l2: float = 0.01) -> L2:
    return L2(l2)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    return L1L2(l1, l2)


_CLASSES = {"L1": L1, "L2": L2, "L1L2": L1L2, "OrthogonalRegularizer": OrthogonalRegularizer}


def get(identifier: Any) -> Any:
    return lookup(identifier, _CLASSES, "regularizer", {"l1_l2": "L1L2"})


def serialize(regularizer: Regularizer) -> dict[str, Any]:
    return regularizer.serialized()


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    return get(config)


def __getattr__(name: str) -> Any:
    from .._names import missing

    missing(f"tf.keras.regularizers.{name}", list(globals()))
