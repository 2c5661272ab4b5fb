"""tf.RaggedTensor, tf.SparseTensor and tf.IndexedSlices as far as tutorials need them: made by string
splitting and feature parsing, looked at, and turned into tensors."""

from __future__ import annotations

from typing import Any, Iterator, Sequence

import numpy as np

from ._convert import convert_to_tensor
from ._dtypes import DType, as_dtype, int64
from ._errors import unsupported
from ._mixin import Operators
from ._shape import TensorShape
from ._tensor import Tensor


class RaggedTensor(Operators):
    """Rows of different lengths: the values one after the other, and where rows begin.

    >>> tf.ragged.constant([[1, 2], [3]]).to_tensor().numpy()
    array([[1, 2], [3, 0]])
    """

    def __init__(self, values: Tensor | RaggedTensor, row_splits: Any, internal: bool = False) -> None:
        self._values = values
        self._splits = np.asarray(row_splits, dtype=np.int64)

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True) -> RaggedTensor:
        return cls(_values(values), _array(row_splits))

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True) -> RaggedTensor:
        return cls(_values(values), np.concatenate([[0], np.cumsum(_array(row_lengths))]))

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        ids = _array(value_rowids)
        count = int(nrows) if nrows is not None else (int(ids[-1]) + 1 if len(ids) else 0)
        return cls.from_row_lengths(values, np.bincount(ids, minlength=count))

    @classmethod
    def from_tensor(cls, tensor: Any, lengths: Any = None, padding: Any = None, **given: Any) -> RaggedTensor:
        array = _array(tensor)
        if padding is not None:
            keep = np.cumsum((array != padding)[:, ::-1], axis=1)[:, ::-1] > 0
            sizes = keep.sum(axis=1)
        elif lengths is not None:
            sizes = _array(lengths)
        else:
            sizes = np.full(array.shape[0], array.shape[1])
        return from_rows([row[:size] for row, size in zip(array, sizes)], as_dtype(array.dtype))

    @property
    def values(self) -> Tensor | RaggedTensor:
        return self._values

    @property
    def flat_values(self) -> Tensor:
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def row_splits(self) -> Tensor:
        return convert_to_tensor(self._splits)

    @property
    def dtype(self) -> DType:
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        inner = self._values.shape
        return TensorShape([len(self._splits) - 1, None]).concatenate(inner[1:])

    @property
    def ragged_rank(self) -> int:
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    def nrows(self, out_type: Any = int64) -> Tensor:
        return convert_to_tensor(len(self._splits) - 1, out_type)

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Tensor:
        if axis != 1:
            unsupported("tf.RaggedTensor.row_lengths", f"axis={axis}", "use to_list()")
        return convert_to_tensor(np.diff(self._splits))

    def bounding_shape(self, axis: Any = None) -> Tensor:
        full = _array(self.to_tensor()).shape
        return convert_to_tensor(np.asarray(full if axis is None else full[axis], np.int64))

    def value_rowids(self) -> Tensor:
        return convert_to_tensor(np.repeat(np.arange(len(self._splits) - 1), np.diff(self._splits)))

    def to_list(self) -> list[Any]:
        if isinstance(self._values, RaggedTensor):
            flat: Any = self._values.to_list()
        else:
            flat = _array(self._values).tolist()
        return [flat[a:b] for a, b in zip(self._splits[:-1], self._splits[1:])]

    def numpy(self) -> Any:
        rows = [np.asarray(row) for row in self.to_list()]
        made = np.empty(len(rows), dtype=object)
        for i, row in enumerate(rows):
            made[i] = row
        return made

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: Any = None) -> Tensor:
        """The rows padded at their ends to the longest, or to `shape`."""
        rows = [self[i] for i in range(len(self))]
        arrays = [_array(row.to_tensor() if isinstance(row, RaggedTensor) else row) for row in rows]
        dims = list(np.max([a.shape for a in arrays], axis=0)) if arrays else [0]
        if shape is not None:
            wanted = TensorShape(shape).as_list()
            dims = [d if w is None else w for d, w in zip(dims, wanted[1:])]
        fill = default_value
        if fill is None:
            fill = b"" if self.dtype.name == "string" else 0
        elif isinstance(fill, Tensor):
            fill = fill.numpy()
        made: Any = np.full([len(arrays), *dims], fill, dtype=object if self.dtype.name == "string" else self.dtype.as_numpy_dtype)
        for i, each in enumerate(arrays):
            part = each[tuple(slice(0, d) for d in dims)]
            made[(i, *(slice(0, n) for n in part.shape))] = part
        return convert_to_tensor(made, self.dtype)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        rows = self.to_list()
        places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        width = max((len(row) for row in rows), default=0)
        return SparseTensor(np.asarray(places, np.int64).reshape(-1, 2), self.flat_values, (len(rows), width))

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Tensor | RaggedTensor:
        if (outer_axis, inner_axis) == (0, 1):
            return self._values
        if (outer_axis, inner_axis) in ((-2, -1), (1, 2)) and isinstance(self._values, RaggedTensor):
            inner = self._values
            return RaggedTensor(inner._values, inner._splits[self._splits])
        unsupported("tf.RaggedTensor.merge_dims", f"axes {outer_axis}, {inner_axis}", "use to_list()")

    def with_values(self, new_values: Any) -> RaggedTensor:
        return RaggedTensor(_values(new_values), self._splits)

    with_flat_values = with_values

    def __len__(self) -> int:
        return len(self._splits) - 1

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return from_rows([self[i] for i in range(*key.indices(len(self)))], self.dtype)
        if isinstance(key, tuple) and len(key) == 1:
            return self[key[0]]
        if isinstance(key, tuple):
            rows = self[key[0]]
            if not isinstance(key[0], slice):
                return rows[key[1:]]
            parts = [row[key[1:]] for row in rows]
            return from_rows(parts, self.dtype) if isinstance(key[1], slice) else convert_to_tensor(
                np.stack([_array(part) for part in parts]), self.dtype)
        i = int(key)
        i = i + len(self) if i < 0 else i
        return self._values[int(self._splits[i]):int(self._splits[i + 1])]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor {self.to_list()}>"


def _values(value: Any) -> Tensor | RaggedTensor:
    return value if isinstance(value, RaggedTensor) else convert_to_tensor(value)


def _array(value: Any) -> Any:
    return np.asarray(value.numpy() if isinstance(value, Tensor) else value)


def from_rows(rows: Sequence[Any], dtype: DType) -> RaggedTensor:
    """A ragged tensor of arrays, tensors or lists."""
    if rows and isinstance(rows[0], RaggedTensor):
        inner = from_rows([row for each in rows for row in each], dtype)
        return RaggedTensor.from_row_lengths(inner, [len(each) for each in rows])
    arrays = [_array(row) for row in rows]
    if dtype.name == "string":
        flat = np.array([x for a in arrays for x in a.ravel().tolist()], dtype=object)
    elif arrays and arrays[0].ndim > 1:
        flat = np.concatenate(arrays).astype(dtype.as_numpy_dtype)
    else:
        flat = np.concatenate([np.zeros(0, dtype.as_numpy_dtype), *arrays]).astype(dtype.as_numpy_dtype)
    return RaggedTensor.from_row_lengths(convert_to_tensor(flat, dtype), [len(a) for a in arrays])


def ragged_constant(pylist: Any, dtype: Any = None, **given: Any) -> RaggedTensor | Tensor:
    """tf.ragged.constant"""
    if not any(isinstance(each, (list, tuple, np.ndarray)) for each in pylist):
        return convert_to_tensor(pylist, dtype)
    if any(isinstance(x, (list, tuple)) for each in pylist for x in each):
        inner = ragged_constant([row for each in pylist for row in each], dtype)
        return RaggedTensor.from_row_lengths(inner, [len(each) for each in pylist])
    flat = convert_to_tensor([x for each in pylist for x in each], dtype)
    return RaggedTensor.from_row_lengths(flat, [len(each) for each in pylist])


class SparseTensor:
    """Values, where they are, and a shape. tf.sparse.to_dense makes a tensor of it."""

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self.indices = convert_to_tensor(indices, int64)
        self.values = values if isinstance(values, Tensor) else convert_to_tensor(values)
        self.dense_shape = convert_to_tensor(dense_shape, int64)

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def shape(self) -> TensorShape:
        if not self.dense_shape.is_concrete:
            return TensorShape([None] * int(self.dense_shape.shape[0] or 1))
        return TensorShape(self.dense_shape.numpy().tolist())

    def get_shape(self) -> TensorShape:
        return self.shape

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"


class FeatureList(SparseTensor):
    """The values of a VarLenFeature while Dataset.map is traced: how many there are is not known yet."""

    def __init__(self, values: Tensor) -> None:
        self.values = values

    @property
    def shape(self) -> TensorShape:
        return TensorShape([None])

    def __getattr__(self, name: str) -> Any:
        if name in ("indices", "dense_shape"):
            unsupported(f"{name} of a VarLenFeature in Dataset.map", way="use tf.sparse.to_dense(feature)")
        raise AttributeError(name)


def to_dense(sparse: SparseTensor, default_value: Any = None, validate_indices: bool = True) -> Tensor:
    """tf.sparse.to_dense"""
    if isinstance(sparse, FeatureList):
        return sparse.values
    if isinstance(sparse, Tensor):
        raise TypeError(f"Input must be a SparseTensor, not {sparse!r}")
    shape = sparse.dense_shape.numpy().tolist()
    string = sparse.dtype.name == "string"
    fill = (b"" if string else 0) if default_value is None else _array(default_value).item()
    made = np.full(shape, fill, dtype=object if string else sparse.dtype.as_numpy_dtype)
    for place, value in zip(sparse.indices.numpy(), _array(sparse.values)):
        made[tuple(place)] = value
    return convert_to_tensor(made, sparse.dtype)


class IndexedSlices:
    """Rows of a gradient: their values, and their places."""

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values, self.indices, self.dense_shape = values, indices, dense_shape


class RaggedTensorSpec:
    """The type of a RaggedTensor."""

    def __init__(self, shape: Any = None, dtype: Any = "float32", ragged_rank: int | None = None, row_splits_dtype: Any = int64) -> None:
        self.shape, self.dtype, self.ragged_rank = TensorShape(shape), as_dtype(dtype), ragged_rank


class SparseTensorSpec:
    """The type of a SparseTensor."""

    def __init__(self, shape: Any = None, dtype: Any = "float32") -> None:
        self.shape, self.dtype = TensorShape(shape), as_dtype(dtype)
