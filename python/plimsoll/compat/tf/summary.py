"""tf.summary: numbers, histograms, pictures and texts for TensorBoard."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import numpy as np

from . import _events, _names
from ._errors import unsupported
from ._tensor import Tensor

__all__ = [
    "SummaryWriter", "create_file_writer", "create_noop_writer", "experimental", "flush", "histogram", "image", "record_if",
    "scalar", "should_record_summaries", "text",
]

_writers: list[SummaryWriter] = []
_step: list[Any] = [None]
_records = [True]


class SummaryWriter:
    """Where summaries go: a folder of event files, or nowhere."""

    def __init__(self, folder: Any) -> None:
        self._folder = folder
        self._file: _events.EventFile | None = None

    def _events(self) -> Any:
        if self._file is None and self._folder is not None:
            self._file = _events.EventFile(self._folder)
        return self._file

    @contextlib.contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        before = _step[0]
        _writers.append(self)
        _step[0] = before if step is None else step
        try:
            yield self
        finally:
            _writers.pop()
            _step[0] = before
            self.flush()

    def set_as_default(self, step: Any = None) -> None:
        _writers[:] = [self]
        _step[0] = step if step is not None else _step[0]

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file, self._folder = None, None

    def init(self) -> None:
        self._events()


def create_file_writer(logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None, name: Any = None, experimental_trackable: bool = False) -> SummaryWriter:
    made = SummaryWriter(str(logdir.numpy().decode() if isinstance(logdir, Tensor) else logdir))
    made.init()
    return made


def create_noop_writer() -> SummaryWriter:
    return SummaryWriter(None)


def _write(step: Any, make: Any, *data: Any) -> bool:
    at = _step[0] if step is None else step
    if not _writers or not _records[0]:
        return False
    if at is None:
        raise ValueError("No step set. Please specify one either through the `step` argument or through tf.summary.experimental.set_step()")
    for each in data:
        if isinstance(each, Tensor) and not each.is_concrete:
            unsupported("tf.summary in a function that is traced", way="return the tensor, and write it outside")
    events = _writers[-1]._events()
    if events is not None:
        events.add(int(at), *make())
    return True


def _array(data: Any) -> Any:
    return np.asarray(data.numpy() if hasattr(data, "numpy") else data)


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> bool:
    return _write(step, lambda: [_events.scalar_value(name, float(_array(data)))], data)


def histogram(name: str, data: Any, step: Any = None, buckets: int | None = None, description: str | None = None) -> bool:
    return _write(step, lambda: [_events.histogram_value(name, _array(data), buckets or 30)], data)


def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None) -> bool:
    def made() -> list[bytes]:
        pictures = _array(data)[:max_outputs]
        if pictures.dtype != np.uint8:
            pictures = (np.clip(pictures, 0, 1) * 255).astype(np.uint8)
        return [_events.image_value(f"{name}/{i}", each) for i, each in enumerate(pictures)]

    return _write(step, made, data)


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> bool:
    def made() -> list[bytes]:
        found = _array(data).reshape(-1)
        return [_events.text_value(name, each if isinstance(each, bytes) else str(each).encode()) for each in found]

    return _write(step, made, data)


def flush(writer: Any = None, name: Any = None) -> None:
    for each in [writer] if writer is not None else _writers:
        each.flush()


@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    before, _records[0] = _records[0], bool(condition() if callable(condition) else condition)
    try:
        yield
    finally:
        _records[0] = before


def should_record_summaries() -> bool:
    return bool(_writers) and _records[0]


class experimental:
    @staticmethod
    def set_step(step: Any) -> None:
        _step[0] = step

    @staticmethod
    def get_step() -> Any:
        return _step[0]


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.summary.{name}", __all__)
