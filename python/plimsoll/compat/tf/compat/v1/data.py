"""tf.compat.v1.data: tf.data, and iterators for sessions."""

from __future__ import annotations

from typing import Any

from ... import data as _data
from ...data import (
    AUTOTUNE, Dataset, FixedLengthRecordDataset, Options, TextLineDataset, TFRecordDataset, experimental,
)
from ...data._graph_iterators import GraphIterator as Iterator

__all__ = [
    "AUTOTUNE", "Dataset", "FixedLengthRecordDataset", "Iterator", "Options", "TFRecordDataset", "TextLineDataset",
    "experimental", "get_output_shapes", "get_output_types", "make_initializable_iterator", "make_one_shot_iterator",
]


def make_one_shot_iterator(dataset: Any) -> Iterator:
    return Iterator(dataset, dataset.element_spec, False)


def make_initializable_iterator(dataset: Any, shared_name: Any = None) -> Iterator:
    return Iterator(dataset, dataset.element_spec, True)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    return dataset_or_iterator.output_shapes


def get_output_types(dataset_or_iterator: Any) -> Any:
    return dataset_or_iterator.output_types


def __getattr__(name: str) -> Any:
    return getattr(_data, name)
