"""tf.compat: v1 and v2."""

from __future__ import annotations

import importlib
from typing import Any

from .. import _names


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes(bytes_or_text)


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    return bytes_or_text.decode(encoding) if isinstance(bytes_or_text, bytes) else str(bytes_or_text)


as_str = as_text
as_str_any = as_text


def forward_compatible(year: int, month: int, day: int) -> bool:
    return False


def __getattr__(name: str) -> Any:
    if name == "v1":
        return importlib.import_module(f"{__name__}.v1")
    if name == "v2":
        return importlib.import_module(__name__.rpartition(".")[0])
    _names.missing(f"tf.compat.{name}", ["as_bytes", "as_str", "as_text", "v1", "v2"])
