"""tf.sparse: sparse tensors, as far as feature parsing makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convert import convert_to_tensor
from ._errors import unsupported
from ._ragged import SparseTensor, to_dense


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Where a tensor is not zero."""
    x = convert_to_tensor(tensor)
    array = np.asarray(x.numpy())
    empty: Any = b"" if x.dtype.name == "string" else 0
    places = np.argwhere(array != empty)
    values = array[tuple(places.T)] if len(places) else array.ravel()[:0]
    return SparseTensor(places, convert_to_tensor(values, x.dtype), array.shape)


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """By rows."""
    places = sp_input.indices.numpy()
    order = np.lexsort(places.T[::-1])
    return SparseTensor(places[order], np.asarray(sp_input.values.numpy())[order], sp_input.dense_shape)


__all__ = ["SparseTensor", "from_dense", "reorder", "to_dense"]


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(name)
    unsupported(f"tf.sparse.{name}", way="use tf.sparse.to_dense, and tensors")
