"""Where datasets come from: tensors, generators, numbers, files, other datasets."""

from __future__ import annotations

import glob
import json
import os
import random as _random
from typing import Any, Callable, Iterator

import numpy as np

import plimsoll as pm
from plimsoll import _core

from .. import _nest
from .._arrays import expand_dims
from .._config import current_device
from .._dtypes import as_dtype, int64, string
from .._errors import InvalidArgumentError, NotFoundError, unsupported
from .._program import fingerprint, quiet
from .._shape import TensorShape
from .._tensor import Tensor, TensorSpec
from . import _structure
from ._dataset import Dataset, number
from ._seed import op_seed
from ._structure import Leaf


def from_tensor_slices(tensors: Any) -> Dataset:
    element = _structure.normalized(_shared(tensors))
    flat = _structure.flatten(element)
    if not flat:
        raise ValueError("Invalid `tensors`. `tensors` should not be empty.")
    counts = set()
    for each in flat:
        if len(each.shape) == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        counts.add(each.shape[0])
    if len(counts) > 1:
        raise ValueError(f"Dimensions {' and '.join(str(c) for c in sorted(counts))} are not compatible")
    made = [_structure.component(each) for each in flat]
    return Dataset(pm.data.from_tensor_slices(tuple(made)), _structure.structure_of(element))


def _shared(tensors: Any) -> Any:
    """NumPy arrays of dtypes that the library has are shared, not copied into the budget."""
    if isinstance(tensors, dict):
        return type(tensors)((key, _shared(each)) for key, each in tensors.items())
    if isinstance(tensors, tuple):
        parts = [_shared(each) for each in tensors]
        return type(tensors)(*parts) if hasattr(tensors, "_fields") else tuple(parts)
    if hasattr(tensors, "to_dict") and hasattr(tensors, "columns"):  # a pandas DataFrame
        tensors = tensors.to_numpy()
    elif hasattr(tensors, "to_numpy") and not isinstance(tensors, np.ndarray):  # a Series
        tensors = tensors.to_numpy()
    if isinstance(tensors, np.ndarray) and tensors.dtype.name in _SHARED and tensors.flags.c_contiguous:
        current_device()  # opens it with its budget: sharing an array would open it without one
        return Tensor(pm.from_numpy(tensors))
    return tensors


_SHARED = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "bool")


def from_tensors(tensors: Any) -> Dataset:
    element = _structure.normalized(tensors)
    flat = _structure.flatten(element)
    rows = []
    for each in flat:
        if each.dtype.name == "string":
            each = expand_dims(each, 0)
            rows.append(_structure.component(each))
            continue
        raw = _structure.component(each)
        rows.append(raw.reshape((1, *raw.shape)))
    return Dataset(pm.data.from_tensor_slices(tuple(rows)), _structure.structure_of(element))


def from_generator(
    generator: Callable[..., Any], output_types: Any, output_shapes: Any, args: Any, output_signature: Any
) -> Dataset:
    if not callable(generator):
        raise TypeError("`generator` must be a Python callable.")
    if output_signature is not None:
        if output_types is not None or output_shapes is not None:
            raise TypeError("The `output_types` argument can not be used together with the `output_signature`.")
        signature = output_signature
    elif output_types is None:
        raise TypeError("Either `output_signature` or `output_types` must be specified")
    elif output_shapes is None:
        signature = _nest.map_structure(lambda dtype: TensorSpec(None, dtype), output_types)
    else:
        signature = _signature(output_types, output_shapes)
    for each in _nest.flatten(signature):
        if not isinstance(each, TensorSpec):
            unsupported(
                "tf.data.Dataset.from_generator", f"output_signature={type(each).__name__}",
                "give tf.TensorSpecs, and pad the rows",
            )
    if isinstance(signature, list):
        raise TypeError("Use tuples, not lists, in `output_signature`.")
    given = tuple(x.numpy() if isinstance(x, Tensor) else x for x in (args or ()))
    specs = _structure.pm_specs(signature)
    structure = _structure.structure_from_specs(signature)

    def make() -> Iterator[Any]:
        for element in generator(*given):
            with quiet():
                yield tuple(_components(element, structure, specs))

    make.__module__, make.__qualname__ = "", fingerprint(generator)
    return Dataset(pm.data.from_generator(make, spec=specs), structure)


def _signature(types: Any, shapes: Any) -> Any:
    if isinstance(types, dict):
        return {key: _signature(types[key], shapes[key]) for key in types}
    if isinstance(types, tuple):
        return tuple(_signature(t, s) for t, s in zip(types, shapes))
    return TensorSpec(shapes, types)


def _components(element: Any, structure: Any, specs: Any) -> Iterator[Any]:
    flat = _flattened(element, structure)
    if len(flat) != len(specs):
        raise TypeError(f"`generator` yielded an element that did not match the expected structure: {element!r}")
    for value, (dtype, dims) in zip(flat, specs):
        raw = _structure.component(value, (dtype, dims))
        if dims is not None and not TensorShape(raw.shape).is_compatible_with(dims):
            raise TypeError(
                f"`generator` yielded an element of shape {TensorShape(raw.shape)} where an element of shape "
                f"{TensorShape(dims)} was expected."
            )
        yield raw


def _flattened(element: Any, structure: Any) -> list[Any]:
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _flattened(element[key], structure[key])]
    if isinstance(structure, tuple):
        return [leaf for part, each in zip(structure, element) for leaf in _flattened(each, part)]
    return [element]


def numbers(*args: Any, output_type: Any = int64) -> Dataset:
    given = [number(each, "range") for each in args]
    start, stop, step = (0, given[0], 1) if len(given) == 1 else (*given, 1)[:3]
    if step == 0:
        raise ValueError("step must not be 0")
    dataset = Dataset(pm.data.range(start, stop, step), Leaf(int64))
    dtype = as_dtype(output_type)
    if dtype == int64:
        return dataset
    from .._math import cast

    return dataset.map(lambda i: cast(i, dtype))


def random_numbers(seed: Any, rerandomize: Any) -> Dataset:
    fixed = op_seed(None if seed is None else number(seed, "seed"))

    def make() -> Iterator[Any]:
        draws = _random.Random(fixed if not rerandomize else None)
        while True:
            yield draws.getrandbits(32)

    return Dataset(pm.data.from_generator(make, spec=[(pm.i64, ())]), Leaf(int64))


def list_files(file_pattern: Any, shuffle: Any, seed: Any) -> Dataset:
    if isinstance(file_pattern, Tensor):
        file_pattern = file_pattern.numpy()
    patterns = file_pattern if isinstance(file_pattern, (list, tuple, np.ndarray)) else [file_pattern]
    names = [each.decode() if isinstance(each, bytes) else os.fspath(each) for each in patterns]
    found = sorted({path for name in names for path in (glob.glob(name) if glob.has_magic(name) else
                    [name] if os.path.exists(name) else [])})
    if not found:
        raise InvalidArgumentError(None, None, f"No files matched pattern: {', '.join(names)}")
    dataset = from_tensor_slices(found)
    again = True if shuffle is None else bool(shuffle)
    return dataset.shuffle(len(found), seed=seed) if again else dataset


def zipped(*args: Any, datasets: Any = None) -> Dataset:
    given = datasets if datasets is not None else args[0] if len(args) == 1 else tuple(args)
    if isinstance(given, list):
        raise TypeError(f"Invalid input to `zip`: lists are not supported; give a tuple: {given!r}")
    flat = _nest.flatten(given)
    for each in flat:
        if not isinstance(each, Dataset):
            raise TypeError(f"The argument to `Dataset.zip()` must be a (nested) structure of `Dataset` objects, not {each!r}")
    made = pm.data.zip(*(each._pm for each in flat))
    structure = _nest.pack_sequence_as(given, [each._structure for each in flat])
    return Dataset(made, structure, any_batch=all(each._any_batch for each in flat))


def _kept(datasets: Any) -> tuple[Any, ...]:
    return tuple(one for each in datasets for one in each._kept)


def sample(datasets: Any, weights: Any, seed: Any, stop_on_empty: bool) -> Dataset:
    sets = list(datasets)
    if not sets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if isinstance(weights, Dataset):
        unsupported("tf.data.Dataset.sample_from_datasets", "weights as a dataset", "give numbers")
    shares = [] if weights is None else [float(each) for each in np.asarray(weights)]
    if shares and len(shares) != len(sets):
        raise ValueError("Invalid `weights`. The shape of `weights` should be compatible with the datasets")
    made = _core._stages.sample_from_datasets([each._dataset for each in sets], shares, seed, stop_on_empty)
    return Dataset(pm.data.Dataset(made, _kept(sets)), sets[0]._structure)


def choose(datasets: Any, choice: Dataset, stop_on_empty: bool) -> Dataset:
    sets = list(datasets)
    if not isinstance(choice._structure, Leaf) or choice._structure.dtype != int64:
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    made = _core._stages.choose_from_datasets([each._dataset for each in sets], choice._dataset, stop_on_empty)
    return Dataset(pm.data.Dataset(made, _kept([*sets, choice])), sets[0]._structure)


# -- files of elements -----------------------------------------------------------------------------

_SHAPE_FILE = "structure.json"


def save(dataset: Dataset, path: Any) -> None:
    folder = os.fspath(path)
    _core._records.save(dataset._pm, folder)
    with open(os.path.join(folder, _SHAPE_FILE), "w", encoding="utf-8") as file:
        json.dump(_described(dataset._structure), file)


def load(path: Any, element_spec: Any, compression: Any, reader_func: Any, wait: bool) -> Dataset:
    if reader_func is not None or wait:
        unsupported("tf.data.Dataset.load", "reader_func and wait", "leave them out")
    folder = os.fspath(path)
    if not os.path.isdir(folder):
        raise NotFoundError(None, None, f"Could not find metadata file. {folder}")
    made = pm.data.Dataset(_core._records.load(folder))
    described = os.path.join(folder, _SHAPE_FILE)
    if os.path.exists(described):
        with open(described, encoding="utf-8") as file:
            return Dataset(made, _undescribed(json.load(file)))
    if element_spec is None:
        unsupported("tf.data.Dataset.load of a folder without structure.json", way="give element_spec")
    return Dataset(made, _structure.structure_from_specs(element_spec))


def _described(structure: Any) -> Any:
    if isinstance(structure, dict):
        return {"dict": {key: _described(each) for key, each in structure.items()}}
    if isinstance(structure, tuple):
        return {"tuple": [_described(each) for each in structure]}
    return structure.dtype.name


def _undescribed(value: Any) -> Any:
    if isinstance(value, str):
        return Leaf(as_dtype(value))
    if "dict" in value:
        return {key: _undescribed(each) for key, each in value["dict"].items()}
    return tuple(_undescribed(each) for each in value["tuple"])


# -- records and lines -----------------------------------------------------------------------------


def names_of(filenames: Any) -> list[str]:
    """Names of files: one, several, a tensor, a dataset."""
    if isinstance(filenames, Dataset):
        filenames = [each for each in filenames.as_numpy_iterator()]
    if isinstance(filenames, Tensor):
        filenames = filenames.numpy()
    if isinstance(filenames, np.ndarray):
        filenames = filenames.ravel().tolist()
    if isinstance(filenames, (str, bytes, os.PathLike)):
        filenames = [filenames]
    made = []
    for each in filenames:
        if isinstance(each, Tensor):
            each = each.numpy()
        made.append(each.decode() if isinstance(each, bytes) else os.fspath(each))
    return made


class TFRecordDataset(Dataset):
    """Records of TFRecord files, as byte strings.

    >>> tf.data.TFRecordDataset(["a.tfrecord", "b.tfrecord"])
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None,
        num_parallel_reads: Any = None, name: str | None = None,
    ) -> None:
        if compression_type not in (None, "", "GZIP", "ZLIB"):
            raise ValueError(f"compression_type must be '', 'GZIP' or 'ZLIB', not {compression_type!r}")
        names = names_of(filenames)
        super().__init__(_files(names, _core._records.tfrecords), Leaf(string))


class TextLineDataset(Dataset):
    """The lines of text files, as byte strings."""

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None,
        num_parallel_reads: Any = None, name: str | None = None,
    ) -> None:
        names = names_of(filenames)
        if compression_type in ("GZIP", "ZLIB"):
            super().__init__(_inflated_lines(names, compression_type), Leaf(string))
        elif compression_type in (None, ""):
            super().__init__(pm.data.text_lines(names), Leaf(string))
        else:
            raise ValueError(f"compression_type must be '', 'GZIP' or 'ZLIB', not {compression_type!r}")


def _files(names: list[str], read: Callable[[list[str]], Any]) -> pm.data.Dataset:
    """A dataset of files that are opened now, or when they are reached if one is not there yet."""
    if all(os.path.exists(each) for each in names):
        return pm.data.Dataset(read(names))

    def open_file(path: bytes) -> Any:
        if not os.path.exists(path):
            raise NotFoundError(None, None, f"{path.decode()}; No such file or directory")
        return pm.data.Dataset(read([path.decode()]))

    paths = from_tensor_slices(names)._pm
    return declared(paths.flat_map(open_file), [(pm.bytes_, ())])


def declared(dataset: pm.data.Dataset, spec: Any) -> pm.data.Dataset:
    """The same with what its elements are, where the library cannot know."""
    return dataset._with(_core._declare(dataset._dataset, spec))


def _inflated_lines(names: list[str], how: str) -> pm.data.Dataset:
    import gzip
    import zlib

    def make() -> Iterator[bytes]:
        for name in names:
            with open(name, "rb") as file:
                data = file.read()
            text = gzip.decompress(data) if how == "GZIP" else zlib.decompress(data)
            yield from text.splitlines()

    return pm.data.from_generator(make, spec=[(pm.bytes_, ())], name=f"lines of {', '.join(names)}")


class FixedLengthRecordDataset(Dataset):
    """Records of one size, as byte strings."""

    def __init__(
        self, filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None,
        buffer_size: Any = None, compression_type: Any = None, num_parallel_reads: Any = None, name: str | None = None,
    ) -> None:
        if compression_type:
            unsupported("tf.data.FixedLengthRecordDataset", f"compression_type={compression_type!r}", "unpack the files first")
        names, size = names_of(filenames), number(record_bytes, "record_bytes")
        before = 0 if header_bytes is None else number(header_bytes, "header_bytes")
        after = 0 if footer_bytes is None else number(footer_bytes, "footer_bytes")
        places = []
        for name in names:
            room = os.path.getsize(name) - before - after
            if room % size:
                raise InvalidArgumentError(
                    None, None,
                    f"Excluding the header ({before} bytes) and footer ({after} bytes), input file \"{name}\" "
                    f"has body length {room} bytes, which is not an exact multiple of the record length ({size} bytes).",
                )
            places.append(room // size)
        ends = np.cumsum([0, *places])

        class Records:
            def __len__(self) -> int:
                return int(ends[-1])

            def __getitem__(self, index: int) -> bytes:
                file = int(np.searchsorted(ends, index, side="right")) - 1
                with open(names[file], "rb") as opened:
                    opened.seek(before + (index - int(ends[file])) * size)
                    return opened.read(size)

        rows: Any = Records()
        made = pm.data.from_indexable(rows, spec=[(pm.bytes_, ())], name=f"records of {', '.join(names)}")
        super().__init__(made, Leaf(string))

