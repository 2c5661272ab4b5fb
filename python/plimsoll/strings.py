"""Byte strings in functions that map() traces.

>>> lines.map(lambda line: pm.strings.to_number(pm.strings.split(line, ",")))
"""

from __future__ import annotations

from ._core._strings import (
    contains, ends_with, equals, join, length, lower, replace, split, starts_with, strip, substr,
    to_number, upper,
)

__all__ = [
    "contains", "ends_with", "equals", "join", "length", "lower", "replace", "split", "starts_with",
    "strip", "substr", "to_number", "upper",
]
