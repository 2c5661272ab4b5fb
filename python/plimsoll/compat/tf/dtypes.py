"""tf.dtypes."""

from __future__ import annotations

from typing import Any

from . import _names
from ._select import bitcast
from ._dtypes import (
    DType, as_dtype, bfloat16, complex64, complex128, double, float16, float32, float64, half, int8,
    int16, int32, int64, resource, string, uint8, uint16, uint32, uint64, variant,
)
from ._dtypes import bool_ as bool
from ._complex import complex
from ._math import cast, saturate_cast

__all__ = [
    "DType", "as_dtype", "bfloat16", "bitcast", "bool", "cast", "complex", "complex64", "complex128",
    "double", "float16", "float32", "float64", "half", "int8", "int16", "int32", "int64", "resource",
    "saturate_cast", "string", "uint8", "uint16", "uint32", "uint64", "variant",
]


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.dtypes.{name}", __all__)
