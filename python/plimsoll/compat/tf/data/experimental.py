"""tf.data.experimental: names of things that tf.data.Dataset has now, mostly."""

from __future__ import annotations

import os
from typing import Any, Callable

from .._errors import unsupported
from .._tensor import Tensor
from ._csv import CsvDataset, make_csv_dataset
from ._dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset, number
from ._options import (
    AutoShardPolicy, AutotuneOptions, DistributeOptions, ExternalStatePolicy, OptimizationOptions,
    ThreadingOptions,
)

Transformation = Callable[[Dataset], Dataset]


def cardinality(dataset: Dataset) -> Tensor:
    return dataset.cardinality()


def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """Says how many elements there are."""
    count = number(expected_cardinality, "expected_cardinality")

    def apply(dataset: Dataset) -> Dataset:
        made = dataset._with(dataset._pm)
        made._count = count
        return made

    return apply


def get_single_element(dataset: Dataset) -> Any:
    return dataset.get_single_element()


def get_structure(dataset: Dataset) -> Any:
    return dataset.element_spec


def ignore_errors(log_warning: bool = False) -> Transformation:
    return lambda dataset: dataset.ignore_errors()


def unique() -> Transformation:
    return lambda dataset: dataset.unique()


def take_while(predicate: Any) -> Transformation:
    return lambda dataset: dataset.take_while(predicate)


def scan(initial_state: Any, scan_func: Any) -> Transformation:
    return lambda dataset: dataset.scan(initial_state, scan_func)


def enumerate_dataset(start: Any = 0) -> Transformation:
    return lambda dataset: dataset.enumerate(start)


def snapshot(path: Any, compression: Any = "AUTO", reader_func: Any = None, shard_func: Any = None) -> Transformation:
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Any, batch_size: Any, num_parallel_batches: Any = None, drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    return lambda dataset: dataset.map(map_func, num_parallel_calls or AUTOTUNE).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Any, cycle_length: Any, block_length: Any = 1, sloppy: Any = False, buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, AUTOTUNE)


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Transformation:
    return lambda dataset: dataset.prefetch_to_device(device, 2 if buffer_size is None else number(buffer_size, "buffer_size"))


def copy_to_device(target_device: Any, source_device: str = "/cpu:0") -> Transformation:
    return lambda dataset: dataset.prefetch_to_device(target_device, 1)


def group_by_window(key_func: Any, reduce_func: Any, window_size: Any = None, window_size_func: Any = None) -> Transformation:
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


def bucket_by_sequence_length(*args: Any, **kwargs: Any) -> Transformation:
    return lambda dataset: dataset.bucket_by_sequence_length(*args, **kwargs)


def sample_from_datasets(
    datasets: Any, weights: Any = None, seed: Any = None, stop_on_empty_dataset: bool = False
) -> Dataset:
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def choose_from_datasets(datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = False) -> Dataset:
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def save(dataset: Dataset, path: Any, compression: Any = None, shard_func: Any = None, checkpoint_args: Any = None) -> None:
    dataset.save(path, compression, shard_func, checkpoint_args)


def load(path: Any, element_spec: Any = None, compression: Any = None, reader_func: Any = None) -> Dataset:
    return Dataset.load(path, element_spec, compression, reader_func)


def Counter(start: Any = 0, step: Any = 1) -> Dataset:
    """start, start + step, ... without end."""
    first, by = number(start, "start"), number(step, "step")
    last = (1 << 62) if by > 0 else -(1 << 62)
    return Dataset.range(first, last, by)


def RandomDataset(seed: Any = None) -> Dataset:
    return Dataset.random(seed)


class TFRecordWriter:
    """Writes a dataset of byte strings to a file: TFRecordWriter(path).write(dataset)."""

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename, self._compression = os.fspath(filename), compression_type

    def write(self, dataset: Dataset) -> None:
        from ..io import TFRecordWriter as Writer

        with Writer(self._filename, self._compression) as writer:
            for record in dataset.as_numpy_iterator():
                writer.write(record)


__all__ = [
    "AUTOTUNE", "AutoShardPolicy", "AutotuneOptions", "Counter", "CsvDataset", "DistributeOptions",
    "ExternalStatePolicy", "INFINITE_CARDINALITY", "OptimizationOptions", "RandomDataset", "TFRecordWriter",
    "ThreadingOptions", "UNKNOWN_CARDINALITY", "assert_cardinality", "bucket_by_sequence_length", "cardinality",
    "choose_from_datasets", "copy_to_device", "enumerate_dataset", "get_single_element", "get_structure",
    "group_by_window", "ignore_errors", "load", "make_csv_dataset", "map_and_batch", "parallel_interleave",
    "prefetch_to_device", "sample_from_datasets", "save", "scan", "shuffle_and_repeat", "snapshot", "take_while",
    "unbatch", "unique", "dense_to_ragged_batch", "rejection_resample", "get_next_as_optional",
]


def unbatch() -> Transformation:
    return lambda dataset: dataset.unbatch()


def dense_to_ragged_batch(batch_size: Any, drop_remainder: bool = False, row_splits_dtype: Any = None) -> Transformation:
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder)


def rejection_resample(class_func: Any, target_dist: Any, initial_dist: Any = None, seed: Any = None) -> Transformation:
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


def get_next_as_optional(iterator: Any) -> Any:
    return iterator.get_next_as_optional()


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(name)
    if name == "Optional":
        from ._running import Optional

        return Optional
    unsupported(f"tf.data.experimental.{name}", way="tf.data.Dataset has what most of these became")
