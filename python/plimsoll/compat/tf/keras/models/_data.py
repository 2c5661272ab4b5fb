"""Where batches come from: arrays, datasets, generators, PyDataset."""

from __future__ import annotations

import math
from typing import Any, Iterator

import numpy as np

import plimsoll as pm

from ... import _nest
from ..._convert import convert_to_tensor
from ..._tensor import Tensor
from .. import _random

Batch = tuple[Any, Any, Any]


class Batches:
    """Epochs of (x, y, sample_weight), structures of tf.Tensors."""

    steps: int | None = None
    batch_size: int | None = None
    anew = False  # whether each epoch of some steps begins with the first batch, as validation does

    def epoch(self) -> Iterator[Batch]:
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """Between two epochs."""

    def on_epoch_begin(self) -> None:
        """Before each epoch."""


def as_array(value: Any, what: str) -> Any:
    """An array whose rows are samples; float64 becomes float32."""
    if isinstance(value, Tensor):
        inner = value._value
        value = inner.numpy() if isinstance(inner, pm.Tensor) and inner.device.kind == "cpu" and (
            inner.dtype != pm.bf16) else value.numpy()
    elif isinstance(value, pm.Tensor):
        value = value.numpy()
    elif hasattr(value, "to_numpy"):  # pandas
        value = value.to_numpy()
    found = np.asarray(value)
    if found.dtype == np.float64:
        found = found.astype(np.float32)
    elif found.dtype.kind in "US":
        found = found.astype(object)
    if found.dtype == object and found.size and not isinstance(found.reshape(-1)[0], (str, bytes)):
        try:
            found = found.astype(np.float32)  # columns of a table
        except (TypeError, ValueError):
            raise ValueError(f"`{what}` is an array of {type(found.reshape(-1)[0]).__name__} objects, not of numbers; rows of "
                             "different lengths need keras.utils.pad_sequences") from None
    if found.ndim == 0:
        raise ValueError(f"`{what}` is a number; it must have samples along its first dimension")
    return found


class Arrays(Batches):
    """Rows of arrays, shuffled or in order. Batches are views where they can be."""

    def __init__(
        self, x: Any, y: Any, sample_weight: Any, batch_size: int | None, shuffle: bool,
    ) -> None:
        self._structure = (x, y, sample_weight)
        self._arrays = [None if each is None else as_array(each, "x")
                        for each in _nest.flatten(self._structure)]
        sizes = {len(each) for each in self._arrays if each is not None}
        if len(sizes) != 1:
            raise ValueError("Data cardinality is ambiguous. Make sure all arrays contain the same number of "
                             f"samples: {sorted(sizes)}")
        self.size = sizes.pop()
        if self.size == 0:
            raise ValueError("there are no samples: the arrays are empty")
        self.batch_size = min(batch_size or 32, self.size)
        self.steps = math.ceil(self.size / self.batch_size)
        self._shuffle = shuffle

    def epoch(self) -> Iterator[Batch]:
        assert self.batch_size is not None
        order = _random.generator().permutation(self.size) if self._shuffle else None
        for begin in range(0, self.size, self.batch_size):
            end = min(begin + self.batch_size, self.size)
            rows = slice(begin, end) if order is None else order[begin:end]
            flat = [None if each is None else _tensor(each[rows]) for each in self._arrays]
            made: Batch = _nest.pack_sequence_as(self._structure, flat)
            yield made


def _tensor(rows: Any) -> Tensor:
    if rows.dtype == object or rows.dtype.name not in _SHARED:
        return convert_to_tensor(rows)
    return Tensor(pm.from_numpy(rows if rows.flags.c_contiguous else np.ascontiguousarray(rows)))


_SHARED = ("float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")


def unpack(element: Any) -> Batch:
    """x, y and weights of what a dataset gives."""
    if isinstance(element, (tuple, list)) and not hasattr(element, "_fields"):
        if isinstance(element, list):
            return element, None, None
        if len(element) > 3:
            raise ValueError("Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, "
                             f"sample_weight)`, found {len(element)} parts")
        padded = (*element, None, None)
        return padded[0], padded[1], padded[2]
    return element, None, None


def _tensors(structure: Any) -> Any:
    def leaf(value: Any) -> Any:
        if value is None or isinstance(value, Tensor):
            return value
        if isinstance(value, pm.Tensor):
            return Tensor(value)
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        return _tensor(array) if array.ndim else convert_to_tensor(array)

    return _nest.map_structure(leaf, structure)


class Stream(Batches):
    """Anything that can be iterated: a dataset each epoch anew, a generator on and on."""

    def __init__(self, source: Any, steps: int | None) -> None:
        self._source = source
        self._endless = iter(source) if hasattr(source, "__next__") else None
        self._per_epoch = steps
        self._running: Iterator[Any] | None = None
        self.steps = steps if steps is not None else _length(source)
        self._unknown = self.steps is None

    def epoch(self) -> Iterator[Batch]:
        if self._per_epoch is None:
            source: Any = self._endless if self._endless is not None else self._source
            count = 0
            for element in source:
                count += 1
                yield unpack(_tensors(element))
            if self._unknown and count:
                self.steps = count
            return
        if self.anew:
            self._running = None
        for _ in range(self._per_epoch):
            if self._running is None:
                self._running = self._endless if self._endless is not None else iter(self._source)
            try:
                element = next(self._running)
            except StopIteration:
                self._running = None
                if self._endless is not None or self.anew:
                    return
                self._running = iter(self._source)
                try:
                    element = next(self._running)
                except StopIteration:
                    return
                import warnings

                warnings.warn("Your input ran out of data; it was begun again. Use dataset.repeat() to have "
                              "steps_per_epoch * epochs batches", stacklevel=2)
            yield unpack(_tensors(element))


class Indexed(Batches):
    """A PyDataset (keras.utils.Sequence): batches by number."""

    def __init__(self, source: Any, steps: int | None, shuffle: bool) -> None:
        self._source, self._shuffle = source, shuffle
        count = getattr(source, "num_batches", None)
        self._count = int(count) if count is not None else len(source)
        self.steps = min(steps, self._count) if steps else self._count

    def epoch(self) -> Iterator[Batch]:
        order = _random.generator().permutation(self._count) if self._shuffle else range(self._count)
        assert self.steps is not None
        for i in list(order)[: self.steps]:
            yield unpack(_tensors(self._source[int(i)]))

    def on_epoch_end(self) -> None:
        if hasattr(self._source, "on_epoch_end"):
            self._source.on_epoch_end()


def _length(source: Any) -> int | None:
    cardinality = getattr(source, "cardinality", None)
    if cardinality is not None:
        found = cardinality() if callable(cardinality) else cardinality
        if found is None:
            return None
        number = int(found)
        if number == -1:
            raise ValueError("When passing an infinitely repeating dataset, please specify a "
                             "`steps_per_epoch` value, so that epoch level callbacks continue to work.")
        return None if number < 0 else number
    return None if hasattr(source, "__next__") or not hasattr(source, "__len__") else len(source)


def batches_of(
    x: Any, y: Any = None, sample_weight: Any = None, batch_size: int | None = None,
    steps: int | None = None, shuffle: bool = False,
) -> Batches:
    """Batches of whatever fit(), evaluate() or predict() was given."""
    from ..utils import PyDataset

    if isinstance(x, PyDataset):
        _alone(y, sample_weight)
        return Indexed(x, steps, shuffle)
    x, y, sample_weight = _numbers(x), _numbers(y), _numbers(sample_weight)
    if _is_rows(x):
        found = Arrays(x, y, sample_weight, batch_size, shuffle)
        if steps is not None and found.steps is not None and steps != found.steps:
            return _Limited(found, steps)
        return found
    _alone(y, sample_weight)
    return Stream(x, steps)


class _Limited(Batches):
    """Arrays over and over, `steps` batches an epoch."""

    def __init__(self, inner: Arrays, steps: int) -> None:
        self._inner, self.steps, self.batch_size = inner, steps, inner.batch_size
        self._running: Iterator[Batch] | None = None

    def epoch(self) -> Iterator[Batch]:
        assert self.steps is not None
        if self.anew:
            self._running = None
        for _ in range(self.steps):
            while True:
                if self._running is None:
                    self._running = self._inner.epoch()
                try:
                    made = next(self._running)
                    break
                except StopIteration:
                    self._running = None
            yield made


def _numbers(value: Any) -> Any:
    """Lists of numbers, or of strings, as one array."""
    first = value
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    plain = isinstance(first, (int, float, str, bytes, np.generic)) and isinstance(value, (list, tuple))
    return np.asarray(value) if plain else value


def _alone(y: Any, sample_weight: Any) -> None:
    if y is not None:
        raise ValueError("`y` is not for datasets and generators: their elements have it")
    if sample_weight is not None:
        raise ValueError("`sample_weight` is not for datasets and generators: their elements have it")


def _is_rows(x: Any) -> bool:
    flat = _nest.flatten(x)
    return bool(flat) and all(
        isinstance(each, (np.ndarray, Tensor, pm.Tensor, int, float, str, bytes)) or hasattr(each, "to_numpy")
        and hasattr(each, "iloc") for each in flat)


def split_rows(arrays: Any, share: float) -> tuple[Any, Any]:
    """The first and the last part of each array."""
    if not _is_rows(_numbers(arrays[0])):
        raise ValueError("`validation_split` is only supported for arrays and tensors, not for a "
                         f"{type(arrays[0]).__name__}: split a dataset with take() and skip(), and pass validation_data")
    flat = [None if each is None else as_array(each, "x") for each in _nest.flatten(arrays)]
    size = next(len(each) for each in flat if each is not None)
    at = math.floor(size * (1.0 - share))
    if at == 0 or at == size:
        raise ValueError(f"Training data contains {size} samples, which is not sufficient to split it into a "
                         f"validation and training set as specified by `validation_split={share}`.")
    first = [None if each is None else each[:at] for each in flat]
    second = [None if each is None else each[at:] for each in flat]
    return _nest.pack_sequence_as(arrays, first), _nest.pack_sequence_as(arrays, second)
