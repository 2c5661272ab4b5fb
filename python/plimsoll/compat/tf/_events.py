"""Event files, which TensorBoard reads: records of protocol buffers, written by hand."""

from __future__ import annotations

import os
import socket
import struct
import time
from typing import Any

import numpy as np

from ._examples import _field, _varint
from ._state import state


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _event(step: int, body: bytes) -> bytes:
    return _double(1, time.time()) + _varint(2 << 3) + _varint(step) + body


def scalar_value(tag: str, value: float) -> bytes:
    return _field(1, _field(1, tag.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", value))


def histogram_value(tag: str, values: Any, buckets: int = 30) -> bytes:
    found = np.asarray(values, np.float64).reshape(-1)
    found = found[np.isfinite(found)]
    counts, edges = np.histogram(found, bins=buckets) if found.size else (np.zeros(1), np.zeros(2))
    body = b"".join(_double(field, float(each)) for field, each in (
        (1, found.min() if found.size else 0), (2, found.max() if found.size else 0), (3, found.size),
        (4, found.sum()), (5, np.square(found).sum())))
    body += _field(6, struct.pack(f"<{len(counts)}d", *edges[1:])) + _field(7, struct.pack(f"<{len(counts)}d", *counts))
    return _field(1, _field(1, tag.encode()) + _field(5, body))


def image_value(tag: str, picture: Any) -> bytes:
    """A picture of [height, width, channels] in bytes."""
    from .io import encode_png

    height, width, channels = picture.shape
    body = b"".join(_varint(field << 3) + _varint(int(each)) for field, each in ((1, height), (2, width), (3, channels)))
    state.replaying += 1  # also while a graph is the default
    try:
        encoded = encode_png(picture).numpy()
    finally:
        state.replaying -= 1
    return _field(1, _field(1, tag.encode()) + _field(4, body + _field(4, encoded)))


def text_value(tag: str, text: bytes) -> bytes:
    plugin = _field(9, _field(1, _field(1, b"text")))
    return _field(1, _field(1, tag.encode()) + plugin + _field(8, _varint(1 << 3) + _varint(7) + _field(2, b"") + _field(8, text)))


class EventFile:
    """A file of events in a folder."""

    _made = 0

    def __init__(self, folder: Any, suffix: str = ".v2") -> None:
        from .io import TFRecordWriter

        os.makedirs(folder, exist_ok=True)
        EventFile._made += 1
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{EventFile._made}{suffix}"
        self._records = TFRecordWriter(os.path.join(folder, name))
        self._records.write(_double(1, time.time()) + _field(3, b"brain.Event:2"))

    def add(self, step: int, *values: bytes) -> None:
        self._records.write(_event(int(step), _field(5, b"".join(values))))

    def flush(self) -> None:
        self._records.flush()

    def close(self) -> None:
        self._records.close()
