"""Complex tensors as pairs of real ones: what transforms of tf.signal give, and the functions that take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _dtypes
from ._convert import convert_to_tensor
from ._operators import abs as real_abs, add, multiply, sqrt, square, subtract
from ._special import atan2
from ._tensor import Tensor


class ComplexTensor:
    """A real and an imaginary part. tf.abs, tf.math.real, imag, angle and conj make real tensors of it; it can
    be indexed, added and multiplied.

    >>> tf.abs(tf.signal.rfft(x))
    """

    def __init__(self, real: Tensor, imag: Tensor) -> None:
        self.real, self.imag = real, imag

    @property
    def dtype(self) -> Any:
        return _dtypes.complex128 if self.real.dtype is _dtypes.float64 else _dtypes.complex64

    @property
    def shape(self) -> Any:
        return self.real.shape

    def get_shape(self) -> Any:
        return self.shape

    def numpy(self) -> Any:
        """A NumPy array of complex numbers."""
        made = np.asarray(self.real.numpy() + 1j * self.imag.numpy())
        return made.astype(self.dtype.as_numpy_dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __getitem__(self, key: Any) -> ComplexTensor:
        return ComplexTensor(self.real[key], self.imag[key])

    def __len__(self) -> int:
        return len(self.real)

    def __abs__(self) -> Any:
        return sqrt(add(square(self.real), square(self.imag)))

    def __add__(self, other: Any) -> ComplexTensor:
        a = as_complex(other, self)
        return ComplexTensor(add(self.real, a.real), add(self.imag, a.imag))

    __radd__ = __add__

    def __sub__(self, other: Any) -> ComplexTensor:
        a = as_complex(other, self)
        return ComplexTensor(subtract(self.real, a.real), subtract(self.imag, a.imag))

    def __mul__(self, other: Any) -> ComplexTensor:
        a = as_complex(other, self)
        return ComplexTensor(
            subtract(multiply(self.real, a.real), multiply(self.imag, a.imag)),
            add(multiply(self.real, a.imag), multiply(self.imag, a.real)))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self.numpy()!r}>"


def as_complex(value: Any, like: ComplexTensor | None = None) -> ComplexTensor:
    """A complex tensor of one, of a real tensor, or of numbers."""
    if isinstance(value, ComplexTensor):
        return value
    if not isinstance(value, Tensor):
        array = np.asarray(value)
        if array.dtype.kind == "c":
            wide = like is not None and like.dtype is _dtypes.complex128
            part = np.float64 if wide else np.float32
            return ComplexTensor(convert_to_tensor(array.real.astype(part)), convert_to_tensor(array.imag.astype(part)))
        value = convert_to_tensor(value, like.real.dtype if like is not None else None)
    if isinstance(value._value, np.ndarray) and value._value.dtype.kind == "c":  # tf.constant of complex numbers
        return as_complex(value._value, like)
    return ComplexTensor(value, value * 0.0)


def complex(real: Any, imag: Any, name: str | None = None) -> ComplexTensor:  # noqa: A001
    """tf.complex: of a real and an imaginary part."""
    return ComplexTensor(convert_to_tensor(real), convert_to_tensor(imag))


def abs(x: Any, name: str | None = None) -> Any:  # noqa: A001
    """The magnitude of each element."""
    return x.__abs__() if isinstance(x, ComplexTensor) else real_abs(x, name=name)


def real(input: Any, name: str | None = None) -> Any:
    found = _complex_of(input)
    return convert_to_tensor(input) if found is None else found.real


def imag(input: Any, name: str | None = None) -> Any:
    found = _complex_of(input)
    return convert_to_tensor(input) * 0.0 if found is None else found.imag


def conj(x: Any, name: str | None = None) -> Any:
    found = _complex_of(x)
    return convert_to_tensor(x) if found is None else ComplexTensor(found.real, -found.imag)


def angle(input: Any, name: str | None = None) -> Any:
    found = _complex_of(input)
    if found is None:
        found = as_complex(convert_to_tensor(input))
    return atan2(found.imag, found.real)


def _complex_of(value: Any) -> ComplexTensor | None:
    if isinstance(value, ComplexTensor):
        return value
    array = value._value if isinstance(value, Tensor) else value
    return as_complex(value) if isinstance(array, (np.ndarray, np.generic)) and array.dtype.kind == "c" else None
