"""tf.data: input pipelines, within a byte budget."""

from __future__ import annotations

from . import experimental
from .._names import absent
from ._map import python_call as _python_call
from ._dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset, DatasetSpec
from ._options import Options, ThreadingOptions
from ._running import NumpyIterator, OwnedIterator as Iterator
from ._sources import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset

__all__ = [
    "AUTOTUNE", "Dataset", "DatasetSpec", "FixedLengthRecordDataset", "INFINITE_CARDINALITY", "Iterator",
    "NumpyIterator", "Options", "TFRecordDataset", "TextLineDataset", "ThreadingOptions",
    "UNKNOWN_CARDINALITY", "experimental",
]


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(name)
    absent(f"tf.data.{name}", f"tf.data has {', '.join(__all__)}")
