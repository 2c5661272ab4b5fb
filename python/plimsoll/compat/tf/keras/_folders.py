"""Datasets of the files in a folder with a folder for each class."""

from __future__ import annotations

import os
from typing import Any, Callable, Sequence

import numpy as np

from .._errors import NotFoundError
from .._program import composed

_PICTURES = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_CHANNELS = {"rgb": 3, "grayscale": 1, "rgba": 4}


class _Files:
    """Files and the numbers of their classes, in the order in which they are shown."""

    def __init__(self, paths: list[str], labels: list[int] | None, names: list[str]) -> None:
        self.paths, self.labels, self.names = paths, labels, names

    def part(self, which: Any) -> _Files:
        chosen = [int(i) for i in which]
        return _Files([self.paths[i] for i in chosen], None if self.labels is None else [self.labels[i] for i in chosen],
                      self.names)


def _found(directory: Any, labels: Any, class_names: Any, endings: tuple[str, ...], follow_links: bool, verbose: bool) -> _Files:
    if not os.path.isdir(directory):
        raise NotFoundError(None, None, f"Could not find directory {directory}")
    folders = list(class_names) if class_names is not None else sorted(
        each for each in os.listdir(directory)
        if os.path.isdir(os.path.join(directory, each)) and not each.startswith("."))
    missing = [each for each in folders if not os.path.isdir(os.path.join(directory, each))]
    if missing:
        raise ValueError(f"The `class_names` passed did not match the names of the subdirectories of the target directory: "
                         f"there is no {missing[0]} in {directory}")
    paths: list[str] = []
    numbers: list[int] = []
    for i, folder in enumerate(folders if labels == "inferred" else [""]):
        for root, _, names in sorted(os.walk(os.path.join(directory, folder), followlinks=follow_links)):
            ours = [os.path.join(root, name) for name in sorted(names) if name.lower().endswith(endings)]
            paths += ours
            numbers += [i] * len(ours)
    if labels is None:
        folders = []
    elif labels != "inferred":
        numbers = [int(each) for each in labels]
        folders = [str(each) for each in sorted(set(numbers))]
        if len(numbers) != len(paths):
            raise ValueError(f"labels has {len(numbers)} numbers, and there are {len(paths)} files in {directory}")
    if not paths:
        raise ValueError(f"No files found in directory {directory}. Allowed formats: {endings}")
    if verbose:
        shown = f"{len(paths)} files belonging to {len(folders)} classes." if labels is not None else f"{len(paths)} files."
        print(f"Found {shown}")
    return _Files(paths, None if labels is None else numbers, folders)


def _parts(files: _Files, split: float | None, subset: str | None, shuffle: bool, seed: int | None, verbose: bool) -> list[_Files]:
    """The files of each dataset that is wanted."""
    if split is not None and not 0 < split < 1:
        raise ValueError(f"`validation_split` must be between 0 and 1, received: {split}")
    if (split is None) != (subset is None):
        raise ValueError("If `subset` is set, `validation_split` must be set, and inversely.")
    if subset not in (None, "training", "validation", "both"):
        raise ValueError(f'`subset` must be either "training", "validation" or "both", received: {subset}')
    if split is not None and shuffle and seed is None:
        raise ValueError("If using `validation_split` and shuffling the data, you must provide a `seed` argument, to "
                         "make sure that there is no overlap between the training and validation subset.")
    order = np.arange(len(files.paths))
    if shuffle:
        np.random.RandomState(seed if seed is not None else 1337).shuffle(order)
    if split is None:
        return [files.part(order)]
    count = int(split * len(order))
    both = {"training": order[:-count] if count else order, "validation": order[len(order) - count:]}
    wanted = ["training", "validation"] if subset == "both" else [str(subset)]
    if verbose:
        for each in wanted:
            print(f"Using {len(both[each])} files for {each}.")
    return [files.part(both[each]) for each in wanted]


def _labels(files: _Files, mode: str | None) -> Any:
    if mode not in ("int", "categorical", "binary", None):
        raise ValueError(f'`label_mode` argument must be one of "int", "categorical", "binary", or None. Received: {mode}')
    if mode is None or files.labels is None:
        return None
    if mode == "binary":
        if len(files.names) != 2:
            raise ValueError('When passing `label_mode="binary"`, there must be exactly 2 class_names. Received: '
                             f"class_names={files.names}")
        return np.asarray(files.labels, np.float32)[:, None]
    if mode == "categorical":
        return np.eye(len(files.names), dtype=np.float32)[np.asarray(files.labels)]
    return np.asarray(files.labels, np.int32)


def _dataset(
    files: _Files, label_mode: str | None, contents: Any, load: Callable[[Any], Any] | None, shuffle: bool, seed: int | None,
    batch_size: int | None, window: int,
) -> Any:
    from ..data import Dataset

    labels = _labels(files, label_mode)
    made: Any = Dataset.from_tensor_slices(contents if labels is None else (contents, labels))
    if load is not None:
        made = made.map(load) if labels is None else made.map(lambda each, label: (load(each), label))
    if shuffle:
        made = made.shuffle(window, seed=seed)
    if batch_size is not None:
        made = made.batch(batch_size)
    made = made.prefetch(2)
    made.class_names, made.file_paths = files.names, files.paths
    return made


@composed
def smart_resize(x: Any, size: Any, interpolation: str = "bilinear", pad: bool = False) -> Any:
    """A picture of another size without distortion: its middle, or all of it between zeros."""
    from ..image import crop_to_bounding_box, pad_to_bounding_box, resize

    height, width = (int(each) for each in x.shape[-3:-1])
    tall, wide = (int(each) for each in size)
    if pad:
        more = max(height, int(float(width * tall) / wide)), max(width, int(float(height * wide) / tall))
        x = pad_to_bounding_box(x, (more[0] - height) // 2, (more[1] - width) // 2, *more)
    else:
        part = max(min(height, int(float(width * tall) / wide)), 1), max(min(width, int(float(height * wide) / tall)), 1)
        x = crop_to_bounding_box(x, (height - part[0]) // 2, (width - part[1]) // 2, *part)
    return resize(x, (tall, wide), method=interpolation)


def image_dataset_from_directory(
    directory: Any, labels: Any = "inferred", label_mode: str | None = "int", class_names: Any = None,
    color_mode: str = "rgb", batch_size: int | None = 32, image_size: Any = (256, 256), shuffle: bool = True,
    seed: int | None = None, validation_split: float | None = None, subset: str | None = None,
    interpolation: str = "bilinear", follow_links: bool = False, crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False, data_format: str | None = None, format: str = "tf", verbose: bool = True,
) -> Any:
    """Pictures of a folder with a folder for each class, as a dataset of (image, label) batches; with
    subset="both", one for training and one for validation."""
    from ..image import decode_image, resize
    from ..io import read_file

    if data_format not in (None, "channels_last") or format != "tf":
        raise NotImplementedError("image_dataset_from_directory: data_format and format are not supported; transpose in map()")
    if color_mode not in _CHANNELS:
        raise ValueError(f"`color_mode` must be one of {sorted(_CHANNELS)}. Received: color_mode={color_mode}")
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio`, `crop_to_aspect_ratio` can be set to `True`.")
    size = (image_size, image_size) if isinstance(image_size, int) else tuple(image_size)
    if len(size) != 2:
        raise ValueError(f"Invalid `image_size` value. Expected a tuple of 2 integers. Received: image_size={image_size}")

    def picture(path: Any) -> Any:
        found = decode_image(read_file(path), channels=_CHANNELS[color_mode], expand_animations=False)
        if crop_to_aspect_ratio or pad_to_aspect_ratio:
            return smart_resize(found, size, interpolation, pad_to_aspect_ratio)
        return resize(found, size, method=interpolation)

    if label_mode is None:
        labels = None
    files = _found(directory, labels, class_names, _PICTURES, follow_links, verbose)
    parts = _parts(files, validation_split, subset, shuffle, seed, verbose)
    made = [_dataset(each, label_mode, np.asarray(each.paths, object), picture, shuffle and i == 0, seed, batch_size,
                     8 * batch_size if batch_size is not None else 1024) for i, each in enumerate(parts)]
    return made if subset == "both" else made[0]


def text_dataset_from_directory(
    directory: Any, labels: Any = "inferred", label_mode: str | None = "int", class_names: Any = None,
    batch_size: int | None = 32, max_length: int | None = None, shuffle: bool = True,
    seed: int | None = None, validation_split: float | None = None, subset: str | None = None,
    follow_links: bool = False, format: str = "tf", verbose: bool = True,
) -> Any:
    """Text files of a folder with a folder for each class, as a dataset of (text, label) batches."""
    if format != "tf":
        raise NotImplementedError(f"text_dataset_from_directory(format={format!r}) is not supported; leave it out")
    if label_mode is None:
        labels = None
    files = _found(directory, labels, class_names, (".txt",), follow_links, verbose)
    parts = _parts(files, validation_split, subset, shuffle, seed, verbose)
    made = [_dataset(each, label_mode, _texts(each.paths, max_length), None, shuffle and i == 0, seed, batch_size,
                     max(len(each.paths), 1)) for i, each in enumerate(parts)]
    return made if subset == "both" else made[0]


def audio_dataset_from_directory(
    directory: Any, labels: Any = "inferred", label_mode: str | None = "int", class_names: Any = None,
    batch_size: int | None = 32, sampling_rate: int | None = None, output_sequence_length: int | None = None,
    ragged: bool = False, shuffle: bool = True, seed: int | None = None, validation_split: float | None = None,
    subset: str | None = None, follow_links: bool = False, verbose: bool = True,
) -> Any:
    """WAV files of a folder with a folder for each class, as a dataset of (samples, label) batches."""
    from ..audio import decode_wav
    from ..io import read_file

    if ragged or sampling_rate is not None:
        raise NotImplementedError(
            f"audio_dataset_from_directory({'ragged' if ragged else 'sampling_rate'}=...) is not supported; give "
            "output_sequence_length, and files of one rate")
    if label_mode is None:
        labels = None

    def sound(path: Any) -> Any:
        return decode_wav(read_file(path), desired_samples=-1 if output_sequence_length is None else output_sequence_length)[0]

    files = _found(directory, labels, class_names, (".wav",), follow_links, verbose)
    parts = _parts(files, validation_split, subset, shuffle, seed, verbose)
    made = [_dataset(each, label_mode, np.asarray(each.paths, object), sound, shuffle and i == 0, seed, batch_size,
                     8 * batch_size if batch_size is not None else 1024) for i, each in enumerate(parts)]
    return made if subset == "both" else made[0]


def _texts(paths: Sequence[str], most: int | None) -> Any:
    found = np.empty(len(paths), object)
    for i, path in enumerate(paths):
        with open(path, "rb") as file:
            found[i] = file.read() if most is None else file.read(most)
    return found
