"""tf.compat.v1.summary: summaries are ops of a graph; a FileWriter takes what Session.run gives for them."""

from __future__ import annotations

import warnings
from typing import Any, Callable

import numpy as np

from ... import _events, _names
from ..._convert import convert_to_tensor
from ..._graph import default_graph, graph_mode
from ..._session import Composite
from ..._tensor import Tensor
from ..._v1 import GraphKeys

__all__ = ["FileWriter", "FileWriterCache", "histogram", "image", "merge", "merge_all", "scalar", "text"]


class SummaryOp(Composite):
    """What Session.run turns into a serialized Summary: tensors, and how to write their values down."""

    def __init__(self, name: str, tensors: list[Any], make: Callable[[list[Any]], bytes]) -> None:
        self.name, self.tensors, self._make = name, tensors, make

    def finish(self, values: list[Any], session: Any = None) -> bytes:
        return self._make(values)


def _summary(name: str, data: Any, make: Callable[[Any], list[bytes]], collections: Any) -> Any:
    """An op of the graph; where ops run at once, the serialized Summary itself."""
    tensor = convert_to_tensor(data)
    if not graph_mode():
        return convert_to_tensor(b"".join(make(np.asarray(tensor.numpy()))))
    made = SummaryOp(name, [tensor], lambda values: b"".join(make(np.asarray(values[0]))))
    for each in [GraphKeys.SUMMARIES] if collections is None else collections:
        default_graph().add_to_collection(each, made)
    return made


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Any:
    return _summary(name, tensor, lambda value: [_events.scalar_value(name, float(value))], collections)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Any:
    return _summary(name, values, lambda value: [_events.histogram_value(name, value)], collections)


def image(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None) -> Any:
    """Pictures [n, height, width, channels]; floats are scaled so that the largest is 255."""

    def made(value: Any) -> list[bytes]:
        pictures = value[:max_outputs]
        if pictures.dtype != np.uint8:
            most = max(float(np.abs(pictures).max()), 1e-30)
            low = float(pictures.min()) < 0
            pictures = (pictures * (127 / most) + 128 if low else pictures * (255 / most)).astype(np.uint8)
        one = len(pictures) == 1
        return [_events.image_value(f"{name}/image" if one else f"{name}/image/{i}", each) for i, each in enumerate(pictures)]

    return _summary(name, tensor, made, collections)


def text(name: str, tensor: Any, collections: Any = None) -> Any:
    def made(value: Any) -> list[bytes]:
        return [_events.text_value(name, each if isinstance(each, bytes) else str(each).encode())
                for each in value.reshape(-1).tolist()]

    return _summary(name, tensor, made, collections)


def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Any:
    """One summary of several."""
    parts = list(inputs)
    if not graph_mode():
        return convert_to_tensor(b"".join(each.numpy() if isinstance(each, Tensor) else each for each in parts))
    counts = [len(each.tensors) for each in parts]

    def made(values: list[Any]) -> bytes:
        found, at = b"", 0
        for each, count in zip(parts, counts):
            found += each.finish(values[at:at + count])
            at += count
        return found

    result = SummaryOp(name or "Merge", [tensor for each in parts for tensor in each.tensors], made)
    for each in collections or []:
        default_graph().add_to_collection(each, result)
    return result


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """One summary of all in the graph, or None where there are none."""
    found = default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


class FileWriter:
    """Writes summaries to an event file, which TensorBoard reads."""

    def __init__(
        self, logdir: Any, graph: Any = None, max_queue: int = 10, flush_secs: int = 120, graph_def: Any = None,
        filename_suffix: str | None = None, session: Any = None,
    ) -> None:
        self._folder = str(logdir)
        self._suffix = filename_suffix or ""
        self._file: _events.EventFile | None = _events.EventFile(self._folder, self._suffix)
        if graph is not None or graph_def is not None:
            self.add_graph(graph or graph_def)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def get_logdir(self) -> str:
        return self._folder

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        warnings.warn("tf.compat.v1.summary.FileWriter writes summaries, but not graphs: TensorBoard's GRAPHS tab stays "
                      "empty", stacklevel=3)

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Adds what Session.run gave for a summary."""
        found = summary.numpy() if isinstance(summary, Tensor) else summary
        if not isinstance(found, bytes):
            raise TypeError(f"summary must be what Session.run gave for a summary op, not {type(summary).__name__}: "
                            "writer.add_summary(sess.run(merged), step)")
        if self._file is None:
            self.reopen()
        assert self._file is not None
        self._file.add(0 if global_step is None else int(global_step), found)

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def reopen(self) -> None:
        if self._file is None:
            self._file = _events.EventFile(self._folder, self._suffix)


class FileWriterCache:
    """One writer for each folder."""

    _known: dict[str, FileWriter] = {}

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        if str(logdir) not in FileWriterCache._known:
            FileWriterCache._known[str(logdir)] = FileWriter(logdir)
        return FileWriterCache._known[str(logdir)]

    @staticmethod
    def clear() -> None:
        FileWriterCache._known.clear()


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.compat.v1.summary.{name}", __all__)
