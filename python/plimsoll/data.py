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
import weakref
from collections.abc import Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence

from . import _core
from ._cell import Cell
from ._core import (
    Device, MapFunction, Program, Session, Symbolic, Tensor, _records, _stages, load_digits,
    load_images,
)
from ._core._records import (
    clear_cache, csv_columns, list_cache, mds_columns, tfrecord_features, webdataset_features,
    write_records,
)
from ._dataset import Dataset, Path, Spec, in_order, name_of, shown
from ._hints import names_in
from ._pipeline import Pipeline
from ._traceback import PACKAGE, boundary
from .errors import InvalidArgument

Paths = Path | Sequence[Path]
# {"image": "bytes", "label": pm.i64, "box": (pm.f32, (4,)), "ids": (pm.i64, (None,)),
#  "weight": (pm.f32, (), 1.0)}: dtypes, shapes, and what stands for one that is missing.
Features = Mapping[str, Any]

__all__ = [
    "Dataset", "MapFunction", "Pipeline", "Program", "Symbolic", "choose_from_datasets",
    "clear_cache", "csv", "csv_columns", "fixed_records", "from_generator", "from_indexable",
    "from_npy", "from_tensor_slices", "image_folder", "image_paths", "list_cache", "list_files",
    "load", "load_digits", "load_images", "mds", "mds_columns", "range", "require_disjoint",
    "sample_from_datasets", "text_lines", "tfrecord_features", "tfrecords", "webdataset",
    "webdataset_features", "write_records", "zip",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_in(__name__, __all__)


def _explain(error: BaseException) -> str:
    """An exception in a user's function, in one line that names where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    if str(error).startswith("[") and frames and frames[-1].filename.startswith(PACKAGE):
        return str(error)  # our own words for what was given to us
    at = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{at}"


@boundary
def range(start: int, end: int | None = None, step: int = 1) -> Dataset:
    """i64 numbers start, start + step, ... before end; of one number 0, 1, ... before it."""
    if end is None:
        start, end = 0, start
    return Dataset(_core._Dataset.range(start, end, step))


@boundary
def from_tensor_slices(tensors: Any, *, device: Device | Session | str | None = None) -> Dataset:
    """Slices along the first dimension of a tensor, a tuple of them, or a dict, whose keys name the
    components. NumPy arrays are shared; lists, text and numbers in the other byte order are copied."""
    names: list[str] = []
    if isinstance(tensors, dict):
        names, tensors = [str(key) for key in tensors], list(tensors.values())
    elif not isinstance(tensors, tuple):
        tensors = [tensors]
    made = []
    for each in tensors:
        if each is None:
            raise TypeError(
                "[from_tensor_slices] a component is None; give arrays, tensors or lists: (images, labels)"
            )
        if isinstance(each, dict) or (isinstance(each, (tuple, list)) and any(getattr(x, "shape", ()) for x in each)):
            raise TypeError(
                f"[from_tensor_slices] a component is a {type(each).__name__} of tensors, and components cannot be "
                "nested; give all in one tuple, (a, b, labels), or in a dict, {\"a\": a, \"b\": b}"
            )
        if isinstance(each, Tensor):
            made.append(each)
        elif isinstance(each, _core.Variable):
            made.append(each.value)
        elif hasattr(each, "__array_interface__") and each.dtype.isnative and each.dtype.kind not in "US":
            made.append(_core.from_numpy(each))
        else:
            made.append(_core.tensor(each, device=device))
    return Dataset(_core._Dataset.from_tensor_slices(made, names))


def _used(made: Any) -> InvalidArgument:
    return InvalidArgument(
        f"[from_generator] make() gave the same {type(made).__name__} again, which the last epoch has used; "
        "make a new one each time: from_generator(lambda: iter(rows))"
    )


def _begun_anew(made: Iterable[Any]) -> Iterator[Any]:
    """An iterator whose own __iter__ may begin it anew."""
    has_any = False
    for each in made:
        has_any = True
        yield each
    if not has_any:
        raise _used(made)


def _each_anew(make: Callable[[], Iterable[Any]]) -> Callable[[], Iterable[Any]]:
    """`make`, which must not give the same iterator twice: the last epoch has used it."""
    last: Callable[[], Any] = lambda: None

    def begin() -> Iterable[Any]:
        nonlocal last
        made = make()
        if made is None:
            raise TypeError("[from_generator] make() returned None; it must return an iterator, or `yield` elements")
        if iter(made) is made:
            if last() is made:
                begins = getattr(type(made), "__iter__", None)
                if isinstance(begins, FunctionType) and begins is not Iterator.__iter__:
                    return _begun_anew(made)
                raise _used(made)
            try:
                last = weakref.ref(made)
            except TypeError:  # Python's own iterators, which are small
                last = lambda: made
        return made

    return begin


@boundary
def from_generator(
    make: Callable[[], Iterable[Any]], *, spec: Spec | None = None, name: str | None = None
) -> Dataset:
    """Elements of an iterable that `make` gives for each epoch; a thread of its own reads it, a few
    elements ahead. It must give the same elements each time. `spec` says what they are,
    [(pm.f32, (None, 3)), pm.i64]; of dicts by name, {"x": (pm.f32, (None, 3)), "label": pm.i64}.

    >>> pm.data.from_generator(lambda: ((i, i * i) for i in range(10)))
    """
    if not callable(make):
        raise TypeError(
            f"[from_generator] make is {shown(make)}; give a function that makes an iterator for each "
            "epoch: from_generator(lambda: iter(rows))"
        )
    begin = _each_anew(make)
    cell = Cell(begin)
    if isinstance(spec, Mapping):
        cell = Cell(lambda: (in_order(spec, element, "from_generator") for element in begin()))
    return Dataset(_core._from_generator(cell, spec, name or name_of(make)), (cell,))


@boundary
def from_indexable(values: Sequence[Any], *, spec: Spec | None = None, name: str | None = None) -> Dataset:
    """Elements values[0], values[1], ...: anything with a length and an index."""
    if not hasattr(values, "__len__") or not hasattr(values, "__getitem__"):
        raise TypeError(f"[from_indexable] values is {shown(values)}; it must have a length and an index")
    cell = Cell(values.__getitem__)
    if isinstance(spec, Mapping):
        cell = Cell(lambda index: in_order(spec, values[index], "from_indexable"))
    made = _core._from_indexable(cell, len(values), spec, name or type(values).__name__)
    return Dataset(made, (cell, values))


@boundary
def list_files(pattern: Path, *, shuffle: bool = False, seed: int | None = None) -> Dataset:
    """Paths that match a pattern: "train/*.jpg"."""
    return Dataset(_core._Dataset.list_files(pattern, shuffle, seed))


@boundary
def image_folder(folder: Path) -> Dataset:
    """(image, label) of the pictures in a folder with one subfolder per class, decoded as late as possible."""
    return Dataset(_core._Dataset.image_folder(folder))


@boundary
def image_paths(folder: Path) -> Dataset:
    """(path, label) of the pictures in a folder with one subfolder per class."""
    return Dataset(_core._Dataset.image_paths(folder))


@boundary
def text_lines(paths: Path | Sequence[Path]) -> Dataset:
    """The lines of files, one after the other, as bytes."""
    return Dataset(_core._Dataset.text_lines(paths))


@boundary
def from_npy(paths: Path | Sequence[Path]) -> Dataset:
    """Slices along the first dimension of arrays in NumPy's files."""
    return Dataset(_core._Dataset.from_npy(paths))


@boundary
def zip(*datasets: Dataset | Sequence[Dataset]) -> Dataset:
    """The components of all, side by side; ends with the shortest."""
    # tf.data's form, zip((a, b)), is the same.
    given = datasets[0] if len(datasets) == 1 and isinstance(datasets[0], (list, tuple)) else datasets
    sets, kept = _all(given, "zip")
    return Dataset(_core._Dataset.zip(sets), kept)


def _all(datasets: Sequence[Any], who: str) -> tuple[list[_core._Dataset], tuple[Any, ...]]:
    for each in datasets:
        if not isinstance(each, Dataset):
            kind = "a dict" if isinstance(each, Mapping) else shown(each)
            raise TypeError(
                f"[{who}] datasets has {kind}, which is not a dataset; give datasets, {who}([a, b]), made by "
                "pm.data.from_tensor_slices(...), say, and name components with map()"
            )
    kept = tuple(one for each in datasets for one in each._kept)
    return [each._dataset for each in datasets], kept


@boundary
def sample_from_datasets(
    datasets: Sequence[Dataset], weights: Sequence[float] | None = None, *, seed: int | None = None,
    stop_on_empty: bool = False,
) -> Dataset:
    """Elements of the datasets in a random order, from each with its share of `weights`. When one
    ends, the others continue, unless `stop_on_empty`.

    >>> pm.data.sample_from_datasets([english, german], [0.8, 0.2])
    """
    sets, kept = _all(datasets, "sample_from_datasets")
    return Dataset(_stages.sample_from_datasets(sets, weights, seed, stop_on_empty), kept)


@boundary
def choose_from_datasets(
    datasets: Sequence[Dataset], choice: Dataset, *, stop_on_empty: bool = True
) -> Dataset:
    """The next element of the dataset whose number `choice` gives; ends with it."""
    sets, kept = _all([*datasets, choice], "choose_from_datasets")
    return Dataset(_stages.choose_from_datasets(sets[:-1], sets[-1], stop_on_empty), kept)


@boundary
def require_disjoint(train: Dataset, validation: Dataset) -> None:
    """InvalidArgument where the two are parts of one set that may have elements in common."""
    sets, _ = _all([train, validation], "require_disjoint")
    _stages.require_disjoint(*sets)


@boundary
def tfrecords(
    files: Paths, features: Features | None = None, *, verify: bool = True,
    index_folder: Path | None = None, index_from: int | str = "1MiB",
) -> Dataset:
    """Records of TFRecord files, parsed as tf.train.Example into these features; without any, the
    records as they are. Files are names, globs ("train-*") or braces ("train-{000..063}").

    >>> pm.data.tfrecords("train-*.tfrecord", {"image": "bytes", "label": pm.i64})
    """
    return Dataset(_records.tfrecords(
        files, features, verify=verify, index_folder=index_folder, index_from=index_from
    ))


@boundary
def webdataset(
    files: Paths, features: Features | None = None, *, verify: bool = True,
    index_folder: Path | None = None, index_from: int | str = "1MiB",
) -> Dataset:
    """Samples of tar files; a feature is a suffix: {"jpg;png": "bytes", "cls": pm.i64}. Without
    features, those of webdataset_features()."""
    return Dataset(_records.webdataset(
        files, features, verify=verify, index_folder=index_folder, index_from=index_from
    ))


@boundary
def mds(
    folder: Path, columns: Sequence[str] = (), *, verify: bool = True,
    index_folder: Path | None = None, index_from: int | str = "1MiB",
) -> Dataset:
    """Samples of a folder in the MDS format of MosaicML Streaming: the columns named, or all."""
    return Dataset(_records.mds(
        folder, columns, verify=verify, index_folder=index_folder, index_from=index_from
    ))


@boundary
def csv(
    files: Paths, columns: Features | Sequence[str] | None = None, *, delimiter: str = ",", header: bool = True,
    verify: bool = True, index_folder: Path | None = None, index_from: int | str = "1MiB",
) -> Dataset:
    """Rows of CSV files: {"age": pm.f32, "name": "bytes"}; a list of names takes the dtypes that
    csv_columns() finds, and without columns there are all that it finds."""
    named: Any = columns
    if isinstance(columns, (list, tuple)):
        found = csv_columns(files, delimiter=delimiter, header=header)
        for name in columns:
            if name not in found:
                raise InvalidArgument(f"[csv] columns has {name!r}; there are {', '.join(found)}")
        named = {name: found[name] for name in columns}
    return Dataset(_records.csv(
        files, named, delimiter=delimiter, header=header, verify=verify,
        index_folder=index_folder, index_from=index_from,
    ))


@boundary
def fixed_records(
    files: Paths, layout: Features, *, header_bytes: int | str = 0, footer_bytes: int | str = 0,
    big_endian: bool = False, verify: bool = True, index_folder: Path | None = None,
    index_from: int | str = "1MiB",
) -> Dataset:
    """Records of one size, with the layout's components one after the other.

    >>> pm.data.fixed_records("cifar/*.bin", {"label": pm.u8, "image": (pm.u8, (3, 32, 32))})
    """
    return Dataset(_records.fixed_records(
        files, layout=layout, header_bytes=header_bytes, footer_bytes=footer_bytes,
        big_endian=big_endian, verify=verify, index_folder=index_folder, index_from=index_from,
    ))


@boundary
def load(folder: Path) -> Dataset:
    """What dataset.save(folder) wrote."""
    return Dataset(_records.load(folder))
