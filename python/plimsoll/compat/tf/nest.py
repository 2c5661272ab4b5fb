"""tf.nest."""

from __future__ import annotations

from typing import Any

from . import _names
from ._nest import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.nest.{name}", __all__)
