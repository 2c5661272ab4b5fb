"""Optimizers, schedules of the learning rate, and averages of weights."""

from __future__ import annotations

from ._core import (
    Group, Optimizer, Schedule, WeightAverage, adadelta, adafactor, adagrad, adam, adamw, adamw_8bit,
    lamb, lazy_adam, lion, nadam, rmsprop, sgd,
)

__all__ = [
    "Group", "Optimizer", "Schedule", "WeightAverage", "adadelta", "adafactor", "adagrad", "adam",
    "adamw", "adamw_8bit", "lamb", "lazy_adam", "lion", "nadam", "rmsprop", "sgd",
]
