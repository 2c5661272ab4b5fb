"""Input pipelines with tf.data's words, inside a byte budget.

>>> train = (pm.data.image_folder("photos")
...          .shuffle()
...          .map(lambda image, label: (pm.image.resize(image, (224, 224)) / 255, label))
...          .batch(32).prefetch())
>>> for images, labels in train:
...     ...
"""

from __future__ import annotations

import traceback
from typing import Any, Callable, Iterable, Sequence

from . import _core
from ._cell import Cell
from ._core import (
    Device, MapFunction, Program, Session, Symbolic, Tensor, load_digits, load_images,
)
from ._dataset import Dataset, Path, Spec, name_of, shown
from ._pipeline import Pipeline

__all__ = [
    "Dataset", "MapFunction", "Pipeline", "Program", "Symbolic", "from_generator", "from_indexable", "from_npy",
    "from_tensor_slices", "image_folder", "image_paths", "list_files", "load_digits", "load_images", "range",
    "text_lines", "zip",
]


def _explain(error: BaseException) -> str:
    """An exception in a user's function, in one line that names where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{at}"


def range(start: int, end: int | None = None, step: int = 1) -> Dataset:
    """i64 numbers start, start + step, ... before end; of one number 0, 1, ... before it."""
    if end is None:
        start, end = 0, start
    return Dataset(_core._Dataset.range(start, end, step))


def from_tensor_slices(tensors: Any, *, device: Device | Session | str | None = None) -> Dataset:
    """Slices along the first dimension of a tensor, a tuple of them, or a dict, whose keys name the
    components. NumPy arrays are shared, lists copied."""
    names: list[str] = []
    if isinstance(tensors, dict):
        names, tensors = [str(key) for key in tensors], list(tensors.values())
    elif not isinstance(tensors, tuple):
        tensors = [tensors]
    made = []
    for each in tensors:
        if isinstance(each, Tensor):
            made.append(each)
        elif isinstance(each, _core.Variable):
            made.append(each.value)
        elif hasattr(each, "__array_interface__"):
            made.append(_core.from_numpy(each))
        else:
            made.append(_core.tensor(each, device=device))
    return Dataset(_core._Dataset.from_tensor_slices(made, names))


def from_generator(
    make: Callable[[], Iterable[Any]], *, spec: Spec | None = None, name: str | None = None
) -> Dataset:
    """Elements of an iterable that `make` gives for each epoch; a thread of its own reads it, a few
    elements ahead. It must give the same elements each time.

    >>> pm.data.from_generator(lambda: ((i, i * i) for i in range(10)))
    """
    if not callable(make):
        raise TypeError(
            f"[from_generator] make is {shown(make)}; give a function that makes an iterator for each "
            "epoch: from_generator(lambda: iter(rows))"
        )
    cell = Cell(make)
    return Dataset(_core._from_generator(cell, spec, name or name_of(make)), (cell,))


def from_indexable(values: Sequence[Any], *, spec: Spec | None = None, name: str | None = None) -> Dataset:
    """Elements values[0], values[1], ...: anything with a length and an index."""
    if not hasattr(values, "__len__") or not hasattr(values, "__getitem__"):
        raise TypeError(f"[from_indexable] values is {shown(values)}; it must have a length and an index")
    cell = Cell(values.__getitem__)
    made = _core._from_indexable(cell, len(values), spec, name or type(values).__name__)
    return Dataset(made, (cell, values))


def list_files(pattern: Path, *, shuffle: bool = False, seed: int | None = None) -> Dataset:
    """Paths that match a pattern: "train/*.jpg"."""
    return Dataset(_core._Dataset.list_files(pattern, shuffle, seed))


def image_folder(folder: Path) -> Dataset:
    """(image, label) of the pictures in a folder per class, decoded as late as can be."""
    return Dataset(_core._Dataset.image_folder(folder))


def image_paths(folder: Path) -> Dataset:
    """(path, label) of the same files."""
    return Dataset(_core._Dataset.image_paths(folder))


def text_lines(paths: Path | Sequence[Path]) -> Dataset:
    """The lines of files, one after the other, as bytes."""
    return Dataset(_core._Dataset.text_lines(paths))


def from_npy(paths: Path | Sequence[Path]) -> Dataset:
    """Slices along the first dimension of arrays in NumPy's files."""
    return Dataset(_core._Dataset.from_npy(paths))


def zip(*datasets: Dataset) -> Dataset:
    """The components of all, side by side; ends with the shortest."""
    for each in datasets:
        if not isinstance(each, Dataset):
            raise TypeError(f"[zip] {shown(each)} is not a dataset")
    kept = tuple(one for each in datasets for one in each._kept)
    return Dataset(_core._Dataset.zip([each._dataset for each in datasets]), kept)
