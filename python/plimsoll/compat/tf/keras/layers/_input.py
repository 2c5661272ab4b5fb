"""Input: symbolic tensors that functional models begin with."""

from __future__ import annotations

from typing import Any

from ..._symbolic import symbolic_input
from .._base import floatx, name_of_dtype, unique_name
from ._layer import Layer


class InputLayer(Layer):
    """Where a value is fed."""

    def __init__(
        self, shape: Any = None, batch_size: int | None = None, dtype: Any = None, sparse: Any = None,
        ragged: Any = None, batch_shape: Any = None, input_tensor: Any = None, optional: bool = False,
        name: str | None = None, input_shape: Any = None, **kwargs: Any,
    ) -> None:
        if sparse or ragged:
            raise NotImplementedError("Input(sparse=True) and Input(ragged=True) are not supported; pad to "
                                      "dense tensors")
        if "batch_input_shape" in kwargs:
            batch_shape = kwargs.pop("batch_input_shape")
        super().__init__(name=name or unique_name("input_layer"))
        if kwargs:
            raise TypeError(f"Input got unexpected arguments {sorted(kwargs)}")
        shape = shape if shape is not None else input_shape
        if batch_shape is None:
            if shape is None:
                raise ValueError("You must pass a `shape` argument.")
            batch_shape = (batch_size, *((shape,) if isinstance(shape, int) else tuple(shape)))
        self.batch_shape = tuple(batch_shape)
        self._input_dtype = name_of_dtype(dtype) if dtype is not None else floatx()
        self.built = True
        made = symbolic_input(self.batch_shape, self._input_dtype, self.name)
        node = made._value.node
        node.layer = self
        made._keras_history = (self, node)
        object.__setattr__(self, "_last_node", node)
        self._tensor = made

    @property
    def dtype(self) -> str:
        return self._input_dtype

    @property
    def output(self) -> Any:
        return self._tensor

    @property
    def input(self) -> Any:
        return self._tensor

    def call(self, inputs: Any = None) -> Any:
        return inputs

    def get_config(self) -> dict[str, Any]:
        return {"batch_shape": list(self.batch_shape), "dtype": self._input_dtype, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return cls(**config)


def Input(
    shape: Any = None, batch_size: int | None = None, dtype: Any = None, sparse: Any = None,
    batch_shape: Any = None, name: str | None = None, tensor: Any = None, optional: bool = False,
    ragged: Any = None, **kwargs: Any,
) -> Any:
    """A symbolic tensor: what a functional model is fed.

    >>> x = tf.keras.Input(shape=(28, 28, 1))
    """
    if tensor is not None:
        raise NotImplementedError("Input(tensor=...) is not supported; call the model on the tensor")
    return InputLayer(shape, batch_size, dtype, sparse, ragged, batch_shape, None, optional, name,
                      **kwargs).output
