"""Files as strings, and TFRecord files."""

from __future__ import annotations

import glob
import os
import zlib
from typing import Any, BinaryIO

import numpy as np

from plimsoll import _core

from .. import _program
from .._dispatch import op
from .._errors import NotFoundError
from .._tensor import Tensor


def path_of(value: Any) -> str:
    """A path of a string, bytes, a Path or a tensor."""
    if isinstance(value, Tensor):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        value = value.item()
    return value.decode() if isinstance(value, bytes) else str(os.fspath(value))


def _scalar(data: bytes) -> Any:
    made = np.empty((), dtype=object)
    made[()] = data
    return made


@op(name="io.read_file", program=lambda filename: _program.record("read_file", [filename])[0])
def read_file(filename: Any) -> Any:
    """The contents of a file."""
    path = path_of(filename)
    try:
        with open(path, "rb") as file:
            return _scalar(file.read())
    except OSError as error:
        raise NotFoundError(None, None, f"{path}; {error.strerror}") from None


@op(name="io.write_file")
def write_file(filename: Any, contents: Any) -> None:
    """Writes a string to a file; folders on the way are made."""
    path = path_of(filename)
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    data = contents.item() if isinstance(contents, np.ndarray) else contents
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)


@op(name="io.matching_files")
def matching_files(pattern: Any) -> Any:
    """Names that match a pattern, sorted."""
    patterns = pattern.ravel().tolist() if isinstance(pattern, np.ndarray) else (
        pattern if isinstance(pattern, (list, tuple)) else [pattern]
    )
    found = sorted({each.encode() for one in patterns for each in glob.glob(path_of(one))})
    made = np.empty(len(found), dtype=object)
    made[:] = found
    return made


class TFRecordOptions:
    """How a TFRecord file is written: compression_type "", "GZIP" or "ZLIB"."""

    def __init__(self, compression_type: Any = None, compression_level: int | None = None, **hints: Any) -> None:
        if compression_type not in (None, "", "GZIP", "ZLIB"):
            raise ValueError(f"compression_type must be '', 'GZIP' or 'ZLIB', not {compression_type!r}")
        self.compression_type, self.compression_level = compression_type or "", compression_level


class TFRecordWriter:
    """Writes records to a TFRecord file.

    >>> with tf.io.TFRecordWriter("a.tfrecord") as writer:
    ...     writer.write(example.SerializeToString())
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        given = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        self._file: BinaryIO | None = open(path_of(path), "wb")
        level = -1 if given.compression_level is None else given.compression_level
        bits = {"GZIP": 31, "ZLIB": 15}.get(given.compression_type)
        self._pack = None if bits is None else zlib.compressobj(level, zlib.DEFLATED, bits)

    def _put(self, data: bytes) -> None:
        if self._file is None:
            raise ValueError("the TFRecordWriter is closed")
        self._file.write(data if self._pack is None else self._pack.compress(data))

    def write(self, record: Any) -> None:
        """Adds a record: bytes, or a scalar string tensor."""
        if isinstance(record, Tensor):
            record = record.numpy()
        if isinstance(record, str):
            record = record.encode()
        before, after = _core._tfrecord_frame(bytes(record))
        self._put(before)
        self._put(bytes(record))
        self._put(after)

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is None:
            return
        if self._pack is not None:
            self._file.write(self._pack.flush())
        self._file.close()
        self._file = None

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def tf_record_iterator(path: Any, options: Any = None) -> Any:
    """The records of a file, as bytes: compat.v1."""
    from ..data import TFRecordDataset

    return TFRecordDataset(path_of(path)).as_numpy_iterator()
