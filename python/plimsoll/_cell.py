"""What C++ calls in Python is reached through a Cell, which C++ holds weakly: strong references are
attributes of Python objects, so that the garbage collector sees them all."""

from __future__ import annotations

from typing import Any, Callable


class Cell:
    __slots__ = ("call", "__weakref__")

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
