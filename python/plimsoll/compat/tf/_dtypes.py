"""tf.DType and the dtypes; those that the library lacks live in NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm


class DType:
    """What the elements of a tensor are.

    >>> tf.float32.as_numpy_dtype, tf.float32.is_floating
    """

    __slots__ = ("name", "pm", "_numpy", "size")
    pm: Any

    def __init__(self, name: str, value: pm.DType | None, numpy: Any, size: int) -> None:
        self.name, self.pm, self._numpy, self.size = name, value, numpy, size

    @property
    def as_numpy_dtype(self) -> Any:
        if self.name == "bfloat16":
            try:
                import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
            except ImportError:
                return np.float32  # the narrowest of NumPy's own that holds its values
            return ml_dtypes.bfloat16
        return self._numpy

    @property
    def base_dtype(self) -> DType:
        return self

    @property
    def is_floating(self) -> bool:
        return self.name in ("float16", "float32", "float64", "bfloat16")

    @property
    def is_integer(self) -> bool:
        return "int" in self.name

    @property
    def is_unsigned(self) -> bool:
        return self.name.startswith("uint")

    @property
    def is_bool(self) -> bool:
        return self.name == "bool"

    @property
    def is_complex(self) -> bool:
        return self.name.startswith("complex")

    @property
    def is_numeric(self) -> bool:
        return self.is_floating or self.is_integer or self.is_complex

    @property
    def is_numpy_compatible(self) -> bool:
        return self.name not in ("resource", "variant")

    @property
    def min(self) -> Any:
        return self._limits().min

    @property
    def max(self) -> Any:
        return self._limits().max

    def _limits(self) -> Any:
        if self.name == "bfloat16":
            class Limits:
                min, max = -3.3895313892515355e38, 3.3895313892515355e38
            return Limits
        if self.is_bool:
            class Truth:
                min, max = False, True
            return Truth
        return np.finfo(self._numpy) if self.is_floating else np.iinfo(self._numpy)

    @property
    def limits(self) -> tuple[Any, Any]:
        return self.min, self.max

    @property
    def as_datatype_enum(self) -> int:
        return list(BY_NAME).index(self.name) + 1

    def is_compatible_with(self, other: Any) -> bool:
        return self == as_dtype(other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        if other is None:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)


float64 = double = DType("float64", pm.f64, np.float64, 8)
float32 = DType("float32", pm.f32, np.float32, 4)
float16 = half = DType("float16", pm.f16, np.float16, 2)
bfloat16 = DType("bfloat16", pm.bf16, np.float32, 2)
int64 = DType("int64", pm.i64, np.int64, 8)
int32 = DType("int32", pm.i32, np.int32, 4)
int16 = DType("int16", pm.i16, np.int16, 2)
int8 = DType("int8", pm.i8, np.int8, 1)
uint8 = DType("uint8", pm.u8, np.uint8, 1)
uint16 = DType("uint16", pm.u16, np.uint16, 2)
uint32 = DType("uint32", None, np.uint32, 4)
uint64 = DType("uint64", None, np.uint64, 8)
bool_ = DType("bool", pm.bool_, np.bool_, 1)
string = DType("string", pm.bytes_, np.object_, 8)
complex64 = DType("complex64", None, np.complex64, 8)
complex128 = DType("complex128", None, np.complex128, 16)
resource = DType("resource", None, np.object_, 8)
variant = DType("variant", None, np.object_, 8)

ALL = (
    float64, float32, float16, bfloat16, int64, int32, int16, int8, uint8, uint16, uint32, uint64,
    bool_, string, complex64, complex128, resource, variant,
)
BY_NAME: dict[str, DType] = {each.name: each for each in ALL}
BY_PM: dict[pm.DType, DType] = {each.pm: each for each in ALL if each.pm is not None}
_ALIASES = {"half": float16, "double": float64, "float": float32, "int": int32, "str": string}


def as_dtype(value: Any) -> DType:
    """A dtype by itself, its name, NumPy's or Python's."""
    if isinstance(value, DType):
        return value
    if isinstance(value, pm.DType):
        return BY_PM[value]
    if isinstance(value, str):
        found = BY_NAME.get(value) or _ALIASES.get(value)
        if found is not None:
            return found
    if value is float:
        return float32
    if value is int:
        return int32
    if value is bool:
        return bool_
    if value is str or value is bytes:
        return string
    try:
        named = np.dtype(value)
    except TypeError:
        raise TypeError(f"Cannot convert {value!r} to a TensorFlow DType.") from None
    if named.kind in "OSU":
        return string
    found = BY_NAME.get(named.name)
    if found is None:
        raise TypeError(f"Cannot convert {value!r} to a TensorFlow DType.")
    return found
