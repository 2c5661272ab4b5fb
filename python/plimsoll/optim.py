"""Optimizers and schedules of the learning rate."""

from __future__ import annotations

from ._core import Optimizer, Schedule, adam, adamw, rmsprop, sgd

__all__ = ["Optimizer", "Schedule", "adam", "adamw", "rmsprop", "sgd"]
