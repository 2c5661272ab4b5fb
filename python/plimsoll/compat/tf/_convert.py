"""Tensors of Python's and NumPy's values, by TensorFlow's rules: floats are float32, integers int32
(int64 where they do not fit), arrays keep their dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _dtypes
from ._dtypes import DType, as_dtype
from ._errors import InvalidArgumentError
from ._shape import TensorShape
from ._state import recording, state
from ._symbolic import record
from ._tensor import Tensor, copied, to_numpy

_INT32 = (-(1 << 31), (1 << 31) - 1)


def tensor(value: Any, dtype: Any = None, like: Any = None, strict: bool = False) -> Any:
    """A raw tensor of anything, in raw functions. `dtype` must be had; the dtype of `like` is taken
    by Python's numbers and lists where it can hold them, and must be had if `strict`."""
    if isinstance(value, (pm.Tensor, _core.Symbolic)):
        if dtype is not None and value.dtype != as_dtype(dtype).pm:
            raise _other_dtype(dtype, _dtypes.BY_PM[value.dtype])
        return value
    if isinstance(value, pm.Variable):
        return tensor(value.value, dtype, like)
    if isinstance(value, Tensor):
        return tensor(value._value, dtype, like)
    if isinstance(value, np.ndarray) and value.dtype == object and dtype in (None, _dtypes.string):
        return value
    if isinstance(value, (list, tuple)) and _has_tensors(value):
        return _packed(value, dtype)
    convert = getattr(value, "_as_tensor", None)
    if convert is not None:
        return tensor(convert(), dtype, like)
    if dtype is None and like is not None:
        try:
            return _make(value, _dtypes.BY_PM[like.dtype], hint=True)
        except (TypeError, ValueError, OverflowError):
            if strict:
                raise
            return _make(value, None)
    return _make(value, None if dtype is None else as_dtype(dtype))


def _other_dtype(wanted: Any, has: DType) -> ValueError:
    return ValueError(
        f"Tensor conversion requested dtype {as_dtype(wanted).name} for Tensor with dtype {has.name}"
    )


def _has_tensors(value: Any) -> bool:
    return any(
        isinstance(each, (pm.Tensor, pm.Variable, _core.Symbolic, Tensor))
        or hasattr(each, "_as_tensor")
        or (isinstance(each, (list, tuple)) and _has_tensors(each))
        for each in value
    )


def _packed(values: Any, dtype: Any) -> Any:
    """A list of tensors and numbers as one tensor: along a new first dimension."""
    first = _first_tensor(values)
    want = None if dtype is None else as_dtype(dtype)
    if isinstance(first, np.ndarray):
        return np.stack([np.asarray(tensor(each, _dtypes.string), dtype=object) for each in values])
    parts = [
        _packed(each, want or first.dtype) if isinstance(each, (list, tuple)) and _has_tensors(each)
        else tensor(each, want, first) for each in values
    ]
    for each in parts:
        if each.dtype != parts[0].dtype:
            raise InvalidArgumentError(
                None, None,
                f"cannot compute Pack as input #1(zero-based) was expected to be a "
                f"{_dtypes.BY_PM[parts[0].dtype].name} tensor but is a "
                f"{_dtypes.BY_PM[each.dtype].name} tensor",
            )
    return pm.stack(parts, axis=0)


def _first_tensor(values: Any) -> Any:
    for each in values:
        if isinstance(each, (list, tuple)):
            found = _first_tensor(each)
            if found is not None:
                return found
        elif isinstance(each, (pm.Tensor, _core.Symbolic)):
            return each
        elif isinstance(each, pm.Variable):
            return each.value
        elif isinstance(each, Tensor):
            return each._value
        elif hasattr(each, "_as_tensor"):
            return each._as_tensor()._value
    return None


def _make(value: Any, dtype: DType | None, hint: bool = False) -> Any:
    array = as_array(value, dtype, hint)
    if array.dtype == object or array.dtype.name not in _HELD:
        return array
    if dtype is _dtypes.bfloat16:
        return pm.tensor(array.astype(np.float32)).to(pm.bf16)
    return pm.tensor(np.asarray(array, order="C"))


_HELD = {each.name for each in _dtypes.ALL if each.pm is not None}


def as_array(value: Any, dtype: DType | None, hint: bool = False) -> Any:
    """The values as a NumPy array of the dtype that TensorFlow gives them."""
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        return np.array(value.as_list(), dtype=(dtype or _dtypes.int32).as_numpy_dtype)
    if value is None:
        raise ValueError("Attempt to convert a value (None) with an unsupported type to a Tensor.")
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        return _from_numpy(np.asarray(value), dtype, hint)
    if isinstance(value, memoryview):
        return _from_numpy(np.asarray(value), dtype, hint)
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.") from None
    return _from_python(value, array, dtype)


def _from_numpy(array: Any, dtype: DType | None, hint: bool) -> Any:
    if array.dtype.kind in "SU":
        array = _bytes(array)
    if array.dtype.name == "bfloat16" and dtype is None:
        dtype = _dtypes.bfloat16
    if dtype is None or (array.dtype == object and dtype is _dtypes.string):
        return _bytes(array) if array.dtype == object else array
    if dtype is _dtypes.string or array.dtype == object:
        raise TypeError(f"Cannot convert an array of {array.dtype} to a tensor of {dtype.name}.")
    target = np.dtype(np.float32 if dtype is _dtypes.bfloat16 else dtype.as_numpy_dtype)
    if array.dtype.kind == "c" and target.kind != "c":
        raise TypeError(f"Cannot convert complex values to a tensor of {dtype.name}.")
    return array.astype(target, copy=False)


def _bytes(array: Any) -> Any:
    flat = [each.encode() if isinstance(each, str) else bytes(each) for each in array.reshape(-1)]
    made = np.empty(len(flat), dtype=object)
    made[:] = flat
    return made.reshape(array.shape)


def _from_python(value: Any, array: Any, dtype: DType | None) -> Any:
    kind = array.dtype.kind
    if kind in "SU" or (kind == "O" and all(isinstance(e, (str, bytes)) for e in array.reshape(-1))):
        if dtype not in (None, _dtypes.string):
            raise _cannot(value, dtype)
        if kind == "O" or kind == "S":
            return _bytes(np.array(_kept(value), dtype=object) if kind == "S" else array)
        return _bytes(array)
    if kind == "O":
        raise ValueError(
            f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a "
            "Tensor."
        )
    if dtype is None:
        if kind == "f":
            return array.astype(np.float32) if not _numpy_inside(value) else array
        if kind == "i":
            if array.size and (array.min() < _INT32[0] or array.max() > _INT32[1]):
                return array
            return array.astype(np.int32)
        if kind == "u" and array.dtype == np.uint64 and not _numpy_inside(value):
            raise OverflowError("Python int too large to convert to int64")
        if array.size == 0 and kind == "f":
            return array.astype(np.float32)
        return array.astype(np.complex128) if kind == "c" else array
    if dtype is _dtypes.string:
        raise _cannot(value, dtype)
    if kind == "f" and array.size and (dtype.is_integer or dtype.is_bool):
        raise _cannot(value, dtype)
    if kind == "b" and dtype.is_integer:
        raise _cannot(value, dtype)
    if kind in "iu" and dtype.is_bool:
        raise _cannot(value, dtype)
    if kind == "c" and not dtype.is_complex:
        raise _cannot(value, dtype)
    if kind in "iu" and dtype.is_integer and array.size:
        if int(array.min()) < dtype.min or int(array.max()) > dtype.max:
            raise _cannot(value, dtype)
    target = np.float32 if dtype is _dtypes.bfloat16 else dtype.as_numpy_dtype
    return array.astype(target)


def _kept(value: Any) -> Any:
    """NumPy strips zeros at the end of byte strings: read them from Python."""
    if isinstance(value, (list, tuple)):
        made = np.empty(len(value), dtype=object)
        parts = [_kept(each) for each in value]
        if parts and isinstance(parts[0], np.ndarray):
            return np.stack(parts)
        made[:] = parts
        return made
    return value


def _numpy_inside(value: Any) -> bool:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (np.generic, np.ndarray))


def _cannot(value: Any, dtype: DType | None) -> TypeError:
    return TypeError(
        f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name if dtype else 'unknown'}"
    )


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Tensor:
    """A tensor of numbers, lists, arrays, variables; a tensor itself.

    >>> tf.convert_to_tensor([[1, 2], [3, 4]])
    """
    want = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        if want is not None and value.dtype is not want:
            raise ValueError(
                f"Tensor conversion requested dtype {want.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    convert = getattr(value, "_as_tensor", None)
    if convert is not None:
        found = convert_to_tensor(convert(), dtype)
        return found if state.inside or _core._tracing() or not isinstance(found._value, pm.Tensor) else Tensor(
            copied(found._value))
    if want is None and dtype_hint is not None:
        try:
            return convert_to_tensor(value, dtype_hint)
        except (TypeError, ValueError):
            pass
    if state.inside:
        return tensor(value, want)  # type: ignore[no-any-return]
    if recording() is not None or _any_symbolic(value):
        found = record(convert_to_tensor, (value, want), {}, name or "Const")
        return found  # type: ignore[no-any-return]
    return Tensor(tensor(value, want))


def _any_symbolic(value: Any) -> bool:
    from ._symbolic import records_in

    return isinstance(value, (list, tuple)) and bool(records_in(value))


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """A tensor of a Python value or an array.

    >>> tf.constant([1.0, 2.0])
    """
    if isinstance(value, Tensor) and dtype is not None and value.dtype != as_dtype(dtype):
        from ._math import cast

        value = cast(value, dtype)
    found = convert_to_tensor(value, dtype, name=name)
    if shape is None:
        return found
    from ._create import fill_to

    return fill_to(found, shape)  # type: ignore[no-any-return]


def numpy_of(value: Any) -> Any:
    """An array of a raw value that must be known: host-only functions."""
    if isinstance(value, pm.Variable):
        value = value.value
    if isinstance(value, pm.Tensor):
        if value.is_symbolic:
            raise NotImplementedError(
                "this function gives a result whose shape depends on values, or is the host's; it "
                "cannot be traced by tf.function, a session or a model: call it eagerly"
            )
        return to_numpy(value)
    if isinstance(value, _core.Symbolic):
        raise NotImplementedError("this function cannot be traced by Dataset.map; use tf.py_function")
    if isinstance(value, Tensor):
        return numpy_of(value._value)
    return as_array(value, None)
