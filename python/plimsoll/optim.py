"""Optimizers, schedules of the learning rate, and averages of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._core import (
    Group, Optimizer, Schedule, WeightAverage, adadelta, adafactor, adagrad, adam, adamw, adamw_8bit,
    lamb, lazy_adam, lion, nadam, rmsprop, sgd,
)
from ._hints import names_in

__all__ = [
    "Group", "Optimizer", "Schedule", "WeightAverage", "adadelta", "adafactor", "adagrad", "adam",
    "adamw", "adamw_8bit", "lamb", "lazy_adam", "lion", "nadam", "rmsprop", "sgd",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_in(__name__, __all__)
