"""ragged_batch: batches of rows of different lengths, which are there in Python alone."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Iterator

from .. import _nest
from .._arrays import stack
from .._errors import unsupported
from .._program import fingerprint, quiet
from .._ragged import RaggedTensor, RaggedTensorSpec, SparseTensor, from_rows
from .._tensor import Tensor, TensorSpec
from . import _map, _structure
from ._dataset import Dataset, number


class RaggedDataset(Dataset):
    """Elements with RaggedTensors in them: to be looped over, mapped, taken from and repeated. A map that
    makes tensors of them (to_tensor()) gives an ordinary dataset again."""

    def __init__(self, source: Dataset, elements: Callable[[], Iterator[Any]]) -> None:
        super().__init__(source._pm, source._structure, options=source._options)
        self._source, self._elements = source, elements

    def __iter__(self) -> Iterator[Any]:
        return self._elements()

    def as_numpy_iterator(self, name: str | None = None) -> Any:
        return (_nest.map_structure(lambda x: x.numpy(), each) for each in self)

    @property
    def element_spec(self) -> Any:
        for each in self:
            return _nest.map_structure(_spec, each)
        raise ValueError("[ragged_batch] the dataset is empty, so that nothing is known of its elements")

    def cardinality(self, name: str | None = None) -> Any:
        from .._convert import convert_to_tensor
        from .._dtypes import int64

        return convert_to_tensor(-2, int64)

    def take(self, count: Any, name: str | None = None) -> Dataset:
        most = number(count, "count")
        return RaggedDataset(self._source, lambda: itertools.islice(iter(self), None if most < 0 else most))

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        times = -1 if count is None else number(count, "count")

        def run() -> Iterator[Any]:
            for _ in itertools.count() if times < 0 else range(times):
                yield from self

        return RaggedDataset(self._source, run)

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        return self

    def map(self, map_func: Callable[..., Any], *args: Any, **kwargs: Any) -> Dataset:
        """Python for each element."""
        def run() -> Iterator[Any]:
            for each in self:
                with quiet():
                    made = _structure.normalized(map_func(*_map.arguments(each, each)))
                yield made

        first = next(run(), None)
        if first is None or any(isinstance(x, (RaggedTensor, SparseTensor)) for x in _structure.flatten(first)):
            return RaggedDataset(self._source, run)
        from ._nested import _generated

        structure = _structure.structure_of(first)
        specs = [(leaf.dtype.pm, (None,) * len(each.shape))
                 for leaf, each in zip(_structure.leaves(structure), _structure.flatten(first))]
        return _generated(self._source, run, structure, specs, fingerprint(map_func))

    def _with(self, *args: Any, **kwargs: Any) -> Dataset:
        unsupported("this method on a dataset of ragged batches", way="map() the elements to tensors first: rows.to_tensor()")


def ragged_batch(dataset: Dataset, batch_size: Any, drop_remainder: bool) -> RaggedDataset:
    """Components whose extents are not known become RaggedTensors, the others tensors."""
    size = number(batch_size, "batch_size")
    varies = [dims is None or None in dims for _, dims in dataset._specs()]

    def run() -> Iterator[Any]:
        rows = iter(Dataset._with(dataset, dataset._pm))
        while batch := list(itertools.islice(rows, size)):
            if len(batch) < size and drop_remainder:
                return
            columns = list(zip(*(_structure.flatten(each) for each in batch)))
            made = [from_rows(list(column), column[0].dtype) if ragged else stack(list(column))
                    for column, ragged in zip(columns, varies)]
            yield _structure.pack(batch[0], made)

    return RaggedDataset(dataset, run)


def _spec(value: Any) -> Any:
    if isinstance(value, Tensor):
        return TensorSpec([None, *value.shape[1:]], value.dtype)
    return RaggedTensorSpec([None, *value.shape[1:]], value.dtype, value.ragged_rank)
