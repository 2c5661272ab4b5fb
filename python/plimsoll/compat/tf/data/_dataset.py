"""tf.data.Dataset over the library's pipelines: its words, its structures, within a byte budget."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Sequence

import numpy as np

import plimsoll as pm
from plimsoll import _core
from plimsoll._cell import Cell

from .._convert import convert_to_tensor
from .._dtypes import int64
from .._errors import unsupported
from .._program import fingerprint, quiet
from .._tensor import Tensor
from . import _map, _structure
from ._caching import cached
from ._graph_iterators import HasGraphIterators
from ._options import Options
from ._running import Limited, NumpyIterator, OwnedIterator, Runs
from ._seed import op_seed
from ._source_methods import HasSources
from ._structure import Leaf

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def number(value: Any, who: str) -> int:
    """A count that may be a tensor."""
    if isinstance(value, Tensor):
        value = value.numpy()
    if isinstance(value, bool) or int(value) != value:
        raise TypeError(f"{who} must be an integer, not {value!r}")
    return int(value)


def parallelism(value: Any) -> int | None:
    """num_parallel_calls: None is one at a time here too, AUTOTUNE all threads."""
    if value is None:
        return 1
    count = number(value, "num_parallel_calls")
    return None if count == AUTOTUNE else count


class Dataset(HasSources, HasGraphIterators):
    """A stream of elements: tensors, in tuples and dicts. Methods give new datasets; nothing runs
    before it is iterated or trained on, within the budget of the device.

    >>> tf.data.Dataset.from_tensor_slices((paths, labels)).map(load).batch(32).prefetch(tf.data.AUTOTUNE)
    """

    def __init__(
        self, dataset: Any, structure: Any = None, *, options: Options | None = None,
        any_batch: bool = False, count: int | None = None,
    ) -> None:
        if not isinstance(dataset, pm.data.Dataset):
            unsupported("tf.data.Dataset(variant_tensor)", way="use Dataset.from_generator, or a method of Dataset")
        self._pm = dataset
        self._structure = structure
        self._options = options or Options()
        self._any_batch = any_batch  # the first extent is a batch's, whose last may be smaller
        self._count = count
        self._runs = Runs()
        self._pm_dataset = dataset._dataset

    # What C++ takes where a dataset is asked for.
    @property
    def _dataset(self) -> Any:
        return self._pm._dataset

    @property
    def _kept(self) -> tuple[Any, ...]:
        return self._pm._kept

    def _with(
        self, dataset: pm.data.Dataset, structure: Any = None, *, same: bool = True, any_batch: bool = False
    ) -> Dataset:
        return Dataset(
            dataset, self._structure if structure is None else structure, options=self._options,
            any_batch=any_batch or (same and structure is None and self._any_batch),
        )

    def _specs(self) -> list[tuple[Any, Any]]:
        found = self._pm.element_spec
        if found is None:
            return [(leaf.dtype.pm, None) for leaf in _structure.leaves(self._structure)]
        return found

    def _begin(self) -> Limited:
        return self._runs.begin(self._pm)

    # -- what it is ------------------------------------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """tf.TensorSpecs in the structure of the elements."""
        specs = self._specs()
        if self._any_batch:
            specs = [(dtype, None if dims is None else (None, *dims[1:])) for dtype, dims in specs]
        return _structure.tensor_specs(self._structure, specs)

    def cardinality(self, name: str | None = None) -> Tensor:
        """How many elements: tf.data.INFINITE_CARDINALITY, tf.data.UNKNOWN_CARDINALITY or a count."""
        count = self._pm._dataset.cardinality if self._count is None else self._count
        return convert_to_tensor(count, int64)

    def __len__(self) -> int:
        count = int(self.cardinality().numpy())
        if count == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if count == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return count

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<_{type(self).__name__} element_spec={self.element_spec}>"

    def options(self) -> Options:
        return self._options

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same with options: what decides speed alone is the pipeline's own choice here."""
        made = self._with(self._pm)
        made._options = self._options.merge(options)
        return made

    @property
    def class_names(self) -> list[str]:
        names = getattr(self, "_class_names", None)
        if names is None:
            raise AttributeError("'Dataset' object has no attribute 'class_names'")
        return list(names)

    @class_names.setter
    def class_names(self, names: Sequence[str]) -> None:
        self._class_names = list(names)

    # -- iterating -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        return OwnedIterator(self)

    def as_numpy_iterator(self, name: str | None = None) -> NumpyIterator:
        """An iterator over NumPy arrays."""
        return NumpyIterator(self)

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element; an error if there are none or several."""
        from .._errors import InvalidArgumentError

        found = list(self.take(2))
        if len(found) != 1:
            raise InvalidArgumentError(
                None, None, "Dataset was empty." if not found else "Dataset had more than one element."
            )
        return found[0]

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any], name: str | None = None) -> Any:
        """The state after `reduce_func(state, element)` for all elements."""
        current = _structure.normalized(initial_state)
        structure = self._structure
        for element in self:
            with quiet():
                args = element if not isinstance(structure, tuple) else tuple(element)
                current = _structure.normalized(reduce_func(current, args))
        return current

    # -- stages ----------------------------------------------------------------------------------

    def map(
        self, map_func: Callable[..., Any], num_parallel_calls: Any = None, deterministic: Any = None,
        synchronous: Any = None, use_unbounded_threadpool: bool = False, name: str | None = None,
    ) -> Dataset:
        """`map_func` of each element: traced once, and run without Python where that can be."""
        if not callable(map_func):
            raise TypeError(f"`map_func` must be callable, not {map_func!r}")
        ordered = deterministic is not False and self._options.deterministic is not False
        made, structure = _map.map_elements(self, map_func, parallelism(num_parallel_calls), ordered)
        return self._with(made, structure)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` is true."""
        return self._with(_map.predicate(self, predicate))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of the datasets that `map_func` gives, one after the other."""
        from . import _nested

        return _nested.flat_map(self, map_func)

    def interleave(
        self, map_func: Callable[..., Any], cycle_length: Any = None, block_length: Any = None,
        num_parallel_calls: Any = None, deterministic: Any = None, name: str | None = None,
    ) -> Dataset:
        """The same, from several at a time by turns."""
        from . import _nested

        return _nested.interleave(self, map_func, cycle_length, block_length, num_parallel_calls)

    def batch(
        self, batch_size: Any, drop_remainder: Any = False, num_parallel_calls: Any = None,
        deterministic: Any = None, name: str | None = None,
    ) -> Dataset:
        """Elements put together: each component gets a first dimension."""
        size, drop = number(batch_size, "batch_size"), bool(drop_remainder)
        if self._has_rows_of_text():
            made = self._pm.padded_batch(size, drop_remainder=drop)  # which pads nothing where extents are known
        else:
            made = self._pm.batch(size, drop_remainder=drop)
        return self._with(made, same=False, any_batch=not drop)

    def _has_rows_of_text(self) -> bool:
        """Whether a component is an array of strings and all extents are known: batch() takes single ones."""
        specs = self._specs()
        return any(dtype == pm.bytes_ and dims for dtype, dims in specs) and all(
            dims is not None and None not in dims for _, dims in specs)

    def padded_batch(
        self, batch_size: Any, padded_shapes: Any = None, padding_values: Any = None,
        drop_remainder: Any = False, name: str | None = None,
    ) -> Dataset:
        """The same for elements whose extents differ: shorter ones are padded at their ends."""
        from . import _padding

        shapes = _padding.shapes_of(self, padded_shapes)
        values = _padding.values_of(self, padding_values)
        made = self._pm.padded_batch(
            number(batch_size, "batch_size"), shapes=shapes, values=values, drop_remainder=bool(drop_remainder)
        )
        return self._with(made, same=False, any_batch=not drop_remainder)

    def ragged_batch(
        self, batch_size: Any, drop_remainder: Any = False, row_splits_dtype: Any = None, name: str | None = None
    ) -> Dataset:
        """Elements put together whose extents differ: such components become RaggedTensors."""
        from ._ragged_batch import ragged_batch

        return ragged_batch(self, batch_size, bool(drop_remainder))

    def unbatch(self, name: str | None = None) -> Dataset:
        """The elements of each batch one by one."""
        return self._with(self._pm.unbatch(), same=False)

    def rebatch(self, batch_size: Any, drop_remainder: Any = False, name: str | None = None) -> Dataset:
        """Batches of another size."""
        made = _core._stages.rebatch(self._pm._dataset, number(batch_size, "batch_size"), bool(drop_remainder))
        return self._with(self._pm._with(made), any_batch=not drop_remainder)

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: Any = None, name: str | None = None
    ) -> Dataset:
        """Each element goes out at random among `buffer_size`. A buffer as large as the set takes no
        memory where elements have an index: the whole set is permuted."""
        size = number(buffer_size, "buffer_size")
        if size < 1 and size != UNKNOWN_CARDINALITY and size != INFINITE_CARDINALITY:
            raise ValueError(f"buffer_size must be greater than zero, not {size}")
        again = True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        fixed = None if again and seed is None else op_seed(seed)
        count = self._pm._dataset.cardinality
        if size < 1 or 0 < count <= size:
            try:
                return self._with(self._pm.shuffle(seed=fixed, reshuffle_each_iteration=again))
            except pm.InvalidArgument:
                size = max(size, count, 1)
        return self._with(self._pm.shuffle(size, seed=fixed, reshuffle_each_iteration=again))

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """`count` times over; without one, or with -1, for ever."""
        times = -1 if count is None else number(count, "count")
        return self._with(self._pm.repeat(None if times < 0 else times))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first `count` elements; -1: all."""
        return self._with(self._pm.take(max(-1, number(count, "count"))))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All but the first `count`; -1: none of them."""
        return self._with(self._pm.skip(max(-1, number(count, "count"))))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element from `index` on."""
        return self._with(self._pm.shard(number(num_shards, "num_shards"), number(index, "index")))

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keeps the elements of the first epoch in memory (in temporary files where that may not be enough),
        or in files under `filename`, which later runs use; a cache on disk belongs to what made it, and is
        made again when that changes."""
        path = filename.numpy().decode() if isinstance(filename, Tensor) else os.fspath(filename)
        if not path:
            return self._with(cached(self._pm))
        folder = f"{path}.cache" if os.path.isfile(path) else path
        return self._with(self._pm.cache(folder))

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Makes elements ahead of the consumer, as far as the budget allows."""
        count = number(buffer_size, "buffer_size")
        if count == 0:
            return self._with(self._pm)
        return self._with(self._pm.prefetch(None if count < 0 else count))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """This, then another one of the same kind."""
        return self._with(self._pm.concatenate(dataset._pm))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """(position, element)"""
        made = self._pm.enumerate(number(start, "start"))
        return self._with(made, (Leaf(int64), self._structure))

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False, name: str | None = None
    ) -> Dataset:
        """A dataset for each window of elements; go on with flat_map(lambda w: w.batch(size))."""
        from . import _nested

        return _nested.window(self, size, shift, stride, drop_remainder)

    def group_by_window(
        self, key_func: Callable[..., Any], reduce_func: Callable[..., Any], window_size: Any = None,
        window_size_func: Any = None, name: str | None = None,
    ) -> Dataset:
        """Collects elements of one key, and goes on with the datasets that `reduce_func` makes of them."""
        from . import _nested

        return _nested.group_by_window(self, key_func, reduce_func, window_size, window_size_func)

    def bucket_by_sequence_length(
        self, element_length_func: Callable[..., Any], bucket_boundaries: Any, bucket_batch_sizes: Any,
        padded_shapes: Any = None, padding_values: Any = None, pad_to_bucket_boundary: bool = False,
        no_padding: bool = False, drop_remainder: bool = False, name: str | None = None,
    ) -> Dataset:
        """Batches of elements of about the same length."""
        from . import _nested

        return _nested.bucket(
            self, element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes, padding_values,
            pad_to_bucket_boundary, no_padding, drop_remainder,
        )

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """(state, element) -> (state, output) over the elements in order."""
        from . import _nested

        return _nested.scan(self, initial_state, scan_func)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Up to the first element for which `predicate` does not hold."""
        structure = self._structure

        def call(*components: Any) -> bool:
            element = _structure.rebuilt(structure, components if len(components) > 1 else components[0])
            with quiet():
                return bool(predicate(*_map.arguments(structure, element)))

        cell = Cell(call)
        made = _core._stages.take_while(self._pm._dataset, cell, fingerprint(predicate))
        return self._with(self._pm._with(made, cell))

    def unique(self, name: str | None = None) -> Dataset:
        """Each element once."""
        from . import _nested

        return _nested.unique(self)

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """transformation_func(self)"""
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"`transformation_func` must return a tf.data.Dataset object, not {made!r}")
        return made

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Leaves out elements that fail."""
        return self._with(self._pm.ignore_errors())

    def snapshot(
        self, path: Any, compression: Any = "AUTO", reader_func: Any = None, shard_func: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements, kept in a folder after the first time."""
        if reader_func is not None or shard_func is not None:
            unsupported("tf.data.Dataset.snapshot", "reader_func and shard_func", "leave them out")
        return self.cache(path)

    def save(self, path: Any, compression: Any = None, shard_func: Any = None, checkpoint_args: Any = None) -> None:
        """Writes the elements to a folder, for load()."""
        from . import _sources

        if shard_func is not None or checkpoint_args is not None:
            unsupported("tf.data.Dataset.save", "shard_func and checkpoint_args", "leave them out")
        _sources.save(self, path)

    def sparse_batch(self, *args: Any, **kwargs: Any) -> Dataset:
        unsupported("tf.data.Dataset.sparse_batch", way="use padded_batch")

    def prefetch_to_device(self, device: Any, buffer_size: int = 2) -> Dataset:
        """Elements copied to a device ahead of the consumer: experimental.prefetch_to_device."""
        from .._config import pm_device

        return self._with(self._pm.prefetch_to(pm_device(device), buffer_size))

    def rejection_resample(
        self, class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """(class, element) pairs, some left out, so that classes come as often as `target_dist` says."""
        if initial_dist is None:
            unsupported("tf.data.Dataset.rejection_resample", "initial_dist=None", "give the shares of the classes")
        from .._gather import gather
        from ..random import uniform

        wanted, has = (np.asarray(each, np.float64) for each in (target_dist, initial_dist))
        ratio = wanted / np.maximum(has, np.finfo(np.float64).tiny)
        odds = convert_to_tensor((ratio / ratio.max()).astype(np.float32))
        structure = self._structure
        pairs = self.map(lambda *e: (class_func(*e), e if isinstance(structure, tuple) else e[0]))
        return pairs.filter(lambda kind, *_: uniform([]) < gather(odds, kind))

    def fingerprint(self) -> Tensor:
        """A number that tells pipelines apart."""
        import hashlib

        digest = hashlib.sha256(self._pm.signature.encode()).digest()
        return convert_to_tensor(int.from_bytes(digest[:7], "little"), int64)


class DatasetSpec:
    """The type of a dataset: what it gives."""

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self.element_spec = element_spec

