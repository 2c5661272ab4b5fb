"""tf.Tensor: one class, with several kinds of value behind it; and tf.TensorSpec.

`tensor._value` is one of
- pm.Tensor: eager, or traced by tf.function, a Trainer, a shape inference (then is_symbolic);
- numpy.ndarray: strings (object arrays of bytes), and dtypes that the library lacks;
- _core.Symbolic: a component of the element that Dataset.map traces;
- _symbolic.Record: a value of a v1 graph or after keras.Input, with a static shape.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _dtypes
from ._dtypes import DType, as_dtype
from ._mixin import Operators
from ._shape import TensorShape
from ._symbolic import Record


class Tensor(Operators):
    """A value of a computation. It cannot be changed; tf.Variable can.

    >>> x = tf.constant([[1.0, 2.0]])
    >>> (x + 1).numpy()
    """

    __slots__ = ("_value", "_keras_history", "_keras_logits", "_keras_mask", "_keras_rows", "_named", "__weakref__")
    __array_priority__ = 100
    _value: Any
    _keras_history: Any
    _keras_logits: Any
    _keras_mask: Any
    _keras_rows: list[Any]  # of the gradient of an embedding: ids and gradients of each lookup

    def __init__(self, value: Any, dtype: Any = None, name: str | None = None) -> None:
        if isinstance(value, pm.Tensor) and value.dtype == pm.bytes_:
            value = np.array(value.tolist(), dtype=object).reshape(value.shape)
        self._value = value
        self._named = name

    # -- what it is ------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        value = self._value
        if isinstance(value, np.ndarray):
            return as_dtype(value.dtype)
        if isinstance(value, Record):
            return value.dtype
        return _dtypes.BY_PM[value.dtype]

    @property
    def shape(self) -> TensorShape:
        value = self._value
        return TensorShape(value.shape if not isinstance(value, Record) else value.static_shape)

    @property
    def ndim(self) -> int:
        rank = self.shape.rank
        if rank is None:
            raise ValueError("the rank of this tensor is not known")
        return rank

    @property
    def name(self) -> str:
        value = self._value
        if isinstance(value, Record):
            return value.name
        if self._named is not None:
            return self._named
        raise AttributeError("Tensor.name is undefined when eager execution is enabled.")

    @property
    def op(self) -> Any:
        value = self._value
        if isinstance(value, Record):
            return value.node
        raise AttributeError("Tensor.op is undefined when eager execution is enabled.")

    @property
    def graph(self) -> Any:
        value = self._value
        if isinstance(value, Record):
            return value.node.graph
        raise AttributeError("Tensor.graph is undefined when eager execution is enabled.")

    @property
    def device(self) -> str:
        from ._config import device_string

        return device_string(self._value)

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Says what is known of the shape; an error if it cannot be."""
        merged = self.shape.merge_with(shape)
        if isinstance(self._value, Record):
            self._value = self._value.with_shape(merged)
        elif isinstance(self._value, _core.Symbolic) and merged.dims is not None:
            from ._program import ensure_shape

            self._value = ensure_shape(self._value, merged.dims)

    @property
    def is_concrete(self) -> bool:
        """Whether it has values that can be looked at."""
        value = self._value
        return isinstance(value, np.ndarray) or (
            isinstance(value, pm.Tensor) and not value.is_symbolic
        )

    # -- values ----------------------------------------------------------------------------------

    def numpy(self) -> Any:
        """A NumPy array, or scalar, with a copy of the values."""
        value = self._value
        if isinstance(value, np.ndarray):
            return value.item() if value.ndim == 0 and value.dtype == object else (
                value[()] if value.ndim == 0 else value.copy()
            )
        if not self.is_concrete:
            raise no_value(self, "numpy()", AttributeError if isinstance(value, Record) else None)
        found = to_numpy(value)
        return found[()] if found.ndim == 0 else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if not self.is_concrete:
            raise no_value(self, "a NumPy array", NotImplementedError)
        found = np.asarray(self.numpy())
        return found if dtype is None else found.astype(dtype)

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def item(self) -> Any:
        return self.numpy().item()

    def __bool__(self) -> bool:
        if not self.is_concrete:
            raise no_value(self, "a Python `bool`", Undecided)
        if isinstance(self._value, np.ndarray):
            return bool(self._value)
        if self._value.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()"
            )
        return bool(self._value.item())

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if not self.dtype.is_integer:
            raise TypeError(
                f"only integer tensors of a single element can be converted to an index, "
                f"not {self.dtype.name}"
            )
        return int(self._scalar("int"))

    def _scalar(self, what: str) -> Any:
        if not self.is_concrete:
            raise no_value(self, f"a Python `{what}`", TypeError)
        if isinstance(self._value, np.ndarray):
            return self._value.item()
        if self._value.size != 1:
            raise TypeError("only length-1 arrays can be converted to Python scalars")
        return self._value.reshape(()).item()

    def __len__(self) -> int:
        dims = self.shape
        if dims.rank == 0:
            raise TypeError("Scalar tensor has no `len()`")
        if dims.rank is None or dims[0] is None:
            raise TypeError(
                "len is not well defined for a symbolic Tensor. Please call `x.shape` rather than "
                "`len(x)` for shape information."
            )
        return int(dims[0])

    def __iter__(self) -> Iterator[Tensor]:
        dims = self.shape
        if dims.rank == 0:
            raise TypeError("Cannot iterate over a scalar tensor.")
        if dims.rank is None or dims[0] is None:
            raise no_value(self, "an iterator (its first extent is not known)", TypeError)
        return (self[i] for i in range(int(dims[0])))

    __eq__ = Operators.__eq__

    def __hash__(self) -> int:
        if isinstance(self._value, Record) or not self.is_concrete:
            return id(self)
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def ref(self) -> Reference:
        return Reference(self)

    experimental_ref = ref

    def __format__(self, spec: str) -> str:
        if not self.is_concrete:
            return str(self).__format__(spec)
        value = self.numpy()
        if self.shape.rank:
            return format(value, spec)
        return format(value.item() if spec and hasattr(value, "item") else value, spec)

    def __str__(self) -> str:
        if not self.is_concrete:
            return f'Tensor("{self._label()}", shape={self.shape}, dtype={self.dtype.name})'
        return f"tf.Tensor({_text(self)}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        if not self.is_concrete:
            return f"<tf.Tensor '{self._label()}' shape={self.shape} dtype={self.dtype.name}>"
        shown = repr(self.numpy()) if self.shape.rank else str(self.numpy())
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={_below(shown)}>"

    def _label(self) -> str:
        return self._value.name if isinstance(self._value, Record) else "traced:0"

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self

    def __reduce__(self) -> Any:
        return _rebuild, (np.asarray(self.numpy()), self.dtype.name)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value in a session, of a v1 graph."""
        from ._session import session_for

        return session_for(session, "eval").run(self, feed_dict)

    def experimental_set_type(self, type_proto: Any) -> None:
        from ._errors import unsupported

        unsupported("tf.Tensor.experimental_set_type")

    # -- operators -------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Tensor:
        from . import _indexing

        return _indexing.getitem(self, key)  # type: ignore[no-any-return]

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(
            "'Tensor' object does not support item assignment; compute another one with tf.where, "
            "tf.concat or tf.tensor_scatter_nd_update, or use a tf.Variable"
        )


class Reference:
    """A tensor or variable as a key of dictionaries, by identity."""

    __slots__ = ("_of",)

    def __init__(self, of: Any) -> None:
        self._of = of

    def deref(self) -> Any:
        return self._of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and other._of is self._of

    def __hash__(self) -> int:
        return id(self._of)


class TensorSpec:
    """A shape and a dtype: what a function takes, what a dataset gives.

    >>> @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    """

    __slots__ = ("_shape", "_dtype", "_name")

    def __init__(self, shape: Any, dtype: Any = _dtypes.float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = TensorShape(shape), as_dtype(dtype), name

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def name(self) -> str | None:
        return self._name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        return cls(spec.shape, spec.dtype, name or spec.name)

    def is_compatible_with(self, other: Any) -> bool:
        return bool(self._dtype == other.dtype) and self._shape.is_compatible_with(other.shape)

    def most_specific_compatible_type(self, other: TensorSpec) -> TensorSpec:
        return TensorSpec(self._shape.most_specific_compatible_shape(other._shape), self._dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorSpec)
            and self._shape == other._shape
            and self._dtype == other._dtype
            and self._name == other._name
        )

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(self) -> Any:
        return TensorSpec, (self._shape, self._dtype, self._name)


def _rebuild(array: Any, dtype: str) -> Tensor:
    from ._convert import convert_to_tensor

    return convert_to_tensor(array, dtype)


def to_numpy(value: pm.Tensor) -> Any:
    """A copy of a tensor's values as an array, from any device."""
    if value.device.kind != "cpu":
        value = value.to("cpu")
    if value.dtype == pm.bf16:
        return np.array(value.to(pm.f32).numpy()).astype(_dtypes.bfloat16.as_numpy_dtype)
    found = np.array(value.numpy())
    return found.view(np.int64) if value.dtype == pm.i64 else found  # the type that NumPy calls int64


def copied(tensor: pm.Tensor) -> pm.Tensor:
    """Its values in memory of their own; a tape follows it."""
    return pm.logical_not(pm.logical_not(tensor)) if tensor.dtype == pm.bool_ else pm.shift(tensor, 0)


class Undecided(TypeError):
    """The truth of a tensor was asked for while it is traced: `if`, `while`, `and`."""


def no_value(tensor: Tensor, what: str, kind: Callable[[str], Exception] | None = None) -> Exception:
    """The error for looking at values that are not there yet."""
    if isinstance(tensor._value, Record):
        text = (
            f"the symbolic tensor {tensor._label()!r} has no value yet, so that it cannot become "
            f"{what}: run it in a session (session.run(x, feed_dict)), or use tf ops in the model"
        )
    else:
        text = (
            f"this tensor is being traced and has no value yet, so that it cannot become {what}: the "
            "function runs once for all its calls. Use tf.where(condition, a, b) instead of `if` on a "
            "tensor, tf ops instead of NumPy's, and look at values outside of the function"
        )
    return (kind or TypeError)(text)


def _text(tensor: Tensor) -> str:
    return _below(str(tensor.numpy()))


def _below(text: str) -> str:
    """Text of several lines begins on a line of its own."""
    return f"\n{text}" if "\n" in text else text


__all__ = ["Reference", "Tensor", "TensorSpec", "Undecided", "copied", "no_value", "to_numpy"]
