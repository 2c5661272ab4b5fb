"""tf.experimental."""

from __future__ import annotations

from typing import Any

from . import _names
from .data._running import Optional

__all__ = ["Optional", "async_clear_error"]


def async_clear_error() -> None:
    """Errors are raised where they happen."""


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.experimental.{name}", __all__)
