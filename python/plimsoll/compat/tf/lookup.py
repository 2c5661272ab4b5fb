"""tf.lookup: tables from keys to values."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _program
from ._convert import convert_to_tensor
from ._dtypes import DType, as_dtype, int64, string
from ._errors import InvalidArgumentError, unsupported
from ._tensor import Tensor


class TextFileIndex:
    WHOLE_LINE, LINE_NUMBER = -2, -1


class KeyValueTensorInitializer:
    """Keys and values of a table."""

    def __init__(self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None) -> None:
        self._keys = convert_to_tensor(keys, key_dtype)
        self._values = convert_to_tensor(values, value_dtype)
        self.key_dtype, self.value_dtype = self._keys.dtype, self._values.dtype

    def items(self) -> list[tuple[Any, Any]]:
        return list(zip(_plain(self._keys), _plain(self._values)))


class TextFileInitializer:
    """Keys and values of the lines of a file."""

    def __init__(
        self, filename: Any, key_dtype: Any, key_index: int, value_dtype: Any, value_index: int, vocab_size: int | None = None,
        delimiter: str = "\t", name: str | None = None, value_index_offset: int = 0,
    ) -> None:
        from .io._files import path_of

        self._path, self._where = path_of(filename), (key_index, value_index)
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._most, self._delimiter, self._offset = vocab_size, delimiter.encode(), value_index_offset

    def items(self) -> list[tuple[Any, Any]]:
        with open(self._path, "rb") as file:
            lines = file.read().splitlines()[: self._most]
        found = []
        for number, line in enumerate(lines):
            pair = []
            for index, dtype in zip(self._where, (self.key_dtype, self.value_dtype)):
                part: Any = number + self._offset if index == TextFileIndex.LINE_NUMBER else (
                    line if index == TextFileIndex.WHOLE_LINE else line.split(self._delimiter)[index]
                )
                pair.append(part if dtype == string else int(part) if dtype.is_integer else float(part))
            found.append((pair[0], pair[1]))
        return found


def _plain(value: Tensor) -> list[Any]:
    return np.asarray(value.numpy()).ravel().tolist()


class _Table:
    """A dictionary of Python's; while Dataset.map is traced a lookup is a call of Python."""

    def __init__(self, key_dtype: DType, value_dtype: DType, items: Any, default: Any) -> None:
        self._key_dtype, self._value_dtype = key_dtype, value_dtype
        self._items: dict[Any, Any] = dict(items)
        self._default = default

    @property
    def key_dtype(self) -> DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        return self._value_dtype

    def size(self, name: str | None = None) -> Tensor:
        return convert_to_tensor(len(self._items), int64)

    def _missing(self, key: Any) -> Any:
        return self._default

    def _found(self, keys: Any) -> Any:
        array = np.asarray(keys)
        kind: Any = object if self._value_dtype == string else self._value_dtype.as_numpy_dtype
        made = np.empty(array.shape, dtype=kind)
        for index in np.ndindex(array.shape):
            key = array[index]
            key = key.item() if isinstance(key, np.generic) else key
            made[index] = self._items[key] if key in self._items else self._missing(key)
        return convert_to_tensor(made, self._value_dtype)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys; the default where there is none."""
        from ._ragged import RaggedTensor, SparseTensor

        if isinstance(keys, RaggedTensor):
            return keys.with_values(self.lookup(keys.values))
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self.lookup(keys.values), keys.dense_shape)
        wanted = convert_to_tensor(keys)
        if wanted.dtype != self._key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self._key_dtype.name}, received: {wanted.dtype.name}")
        if wanted.is_concrete:
            return self._found(wanted.numpy())
        dims = wanted._value.shape if isinstance(wanted._value, _program.Symbolic) else None

        def run(value: Any) -> list[Any]:
            given = _program.eager(value, self._key_dtype)
            return [_program.host(self._found(given.numpy()))]

        made = _program.call_function(run, [wanted], [(self._value_dtype, dims)], "tf.lookup")
        return made[0]

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


class StaticHashTable(_Table):
    """A table that does not change.

    >>> table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1]), -1)
    >>> table.lookup(tf.constant(["b", "z"]))
    """

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None, experimental_is_anonymous: bool = False) -> None:
        default = _plain(convert_to_tensor(default_value, initializer.value_dtype))[0]
        super().__init__(initializer.key_dtype, initializer.value_dtype, initializer.items(), default)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        return convert_to_tensor(list(self._items), self._key_dtype), convert_to_tensor(list(self._items.values()), self._value_dtype)


class StaticVocabularyTable(_Table):
    """Strings to ids; those that are not in it share `num_oov_buckets` more."""

    def __init__(
        self, initializer: Any, num_oov_buckets: int, lookup_key_dtype: Any = None, name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets < 1:
            raise ValueError("oov_buckets must be > 0.")
        if num_oov_buckets > 1:
            unsupported("tf.lookup.StaticVocabularyTable", f"num_oov_buckets={num_oov_buckets}", "use 1: its hash is not TensorFlow's")
        items = [] if initializer is None else initializer.items()
        key = string if initializer is None else initializer.key_dtype
        super().__init__(key if lookup_key_dtype is None else as_dtype(lookup_key_dtype), int64, items, len(items))

    def size(self, name: str | None = None) -> Tensor:
        return convert_to_tensor(len(self._items) + 1, int64)


class MutableHashTable(_Table):
    """A table that insert() and remove() change."""

    def __init__(self, key_dtype: Any, value_dtype: Any, default_value: Any, name: str = "MutableHashTable", **hints: Any) -> None:
        value = as_dtype(value_dtype)
        found = convert_to_tensor(default_value, value)
        if len(found.shape) != 0:
            unsupported("tf.lookup.experimental.MutableHashTable", "values with dimensions", "use a dict")
        super().__init__(as_dtype(key_dtype), value, (), _plain(found)[0])

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        self._items.update(zip(_plain(convert_to_tensor(keys, self._key_dtype)), _plain(convert_to_tensor(values, self._value_dtype))))

    insert_or_assign = insert

    def remove(self, keys: Any, name: str | None = None) -> None:
        for each in _plain(convert_to_tensor(keys, self._key_dtype)):
            self._items.pop(each, None)

    erase = remove

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        return convert_to_tensor(list(self._items), self._key_dtype), convert_to_tensor(list(self._items.values()), self._value_dtype)


class DenseHashTable(MutableHashTable):
    """The same, with keys that stand for empty and deleted places."""

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any, deleted_key: Any, initial_num_buckets: Any = None,
        name: str = "MutableDenseHashTable", **hints: Any,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value)
        self._refused = {_plain(convert_to_tensor(each, self._key_dtype))[0] for each in (empty_key, deleted_key)}

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        if self._refused & set(_plain(convert_to_tensor(keys, self._key_dtype))):
            raise InvalidArgumentError(None, None, "Using the empty_key or deleted_key as a table key is not allowed")
        super().insert(keys, values)

    insert_or_assign = insert


class experimental:
    DenseHashTable = DenseHashTable
    MutableHashTable = MutableHashTable


__all__ = [
    "KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable", "TextFileIndex", "TextFileInitializer",
    "experimental",
]
