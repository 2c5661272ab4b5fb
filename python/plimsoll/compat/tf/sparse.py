"""tf.sparse: sparse tensors, as far as feature parsing makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convert import convert_to_tensor
from ._names import absent
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


def sparse_dense_matmul(sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None) -> Any:
    """The product with a matrix; the sparse one is made dense for it."""
    from ._operators import matmul

    first, second = (to_dense(each) if isinstance(each, SparseTensor) else each for each in (sp_a, b))
    return matmul(first, second, transpose_a=adjoint_a, transpose_b=adjoint_b)


def reduce_sum(sp_input: SparseTensor, axis: Any = None, keepdims: bool | None = None, output_is_sparse: bool = False, name: str | None = None) -> Any:
    from ._reduce import reduce_sum as total

    found = total(to_dense(sp_input), axis, bool(keepdims))
    return from_dense(found) if output_is_sparse else found


def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """A sum: sparse if both are."""
    both = isinstance(a, SparseTensor) and isinstance(b, SparseTensor)
    first, second = (to_dense(each) if isinstance(each, SparseTensor) else convert_to_tensor(each) for each in (a, b))
    return from_dense(first + second) if both else first + second


def transpose(sp_input: SparseTensor, perm: Any = None, name: str | None = None) -> SparseTensor:
    shape = np.asarray(sp_input.dense_shape.numpy())
    order = list(range(len(shape)))[::-1] if perm is None else [int(each) for each in perm]
    return reorder(SparseTensor(sp_input.indices.numpy()[:, order], sp_input.values, shape[order]))


def reshape(sp_input: SparseTensor, shape: Any, name: str | None = None) -> SparseTensor:
    old = tuple(int(each) for each in sp_input.dense_shape.numpy())
    new = [int(each) for each in shape]
    if -1 in new:
        new[new.index(-1)] = int(np.prod(old)) // -int(np.prod(new))
    flat = np.ravel_multi_index(tuple(sp_input.indices.numpy().T), old)
    return SparseTensor(np.stack(np.unravel_index(flat, new), axis=1), sp_input.values, new)


__all__ = ["SparseTensor", "add", "from_dense", "reduce_sum", "reorder", "reshape", "sparse_dense_matmul", "to_dense",
           "transpose"]


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(name)
    absent(f"tf.sparse.{name}", "use tf.sparse.to_dense, and tensors")
