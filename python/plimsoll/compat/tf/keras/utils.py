"""keras.utils."""

from __future__ import annotations

import math
import os
import random as python_random
from typing import Any

import numpy as np

from ._config import (
    CustomObjectScope as CustomObjectScope, custom_object_scope as custom_object_scope,
    get_custom_objects as get_custom_objects, register_keras_serializable as register_keras_serializable,
)

__all__ = [
    "CustomObjectScope", "FeatureSpace", "PyDataset", "Sequence", "audio_dataset_from_directory",
    "custom_object_scope", "get_custom_objects", "get_file", "image_dataset_from_directory", "img_to_array",
    "load_img", "model_to_dot", "normalize", "pad_sequences", "plot_model", "register_keras_serializable",
    "save_img", "set_random_seed", "split_dataset", "text_dataset_from_directory",
    "timeseries_dataset_from_array", "to_categorical",
]


class PyDataset:
    """Batches by number: __len__ and __getitem__."""

    def __init__(self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10) -> None:
        self.workers = workers

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__(index)")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__()")

    def on_epoch_end(self) -> None:
        """Between two epochs."""


Sequence = PyDataset


def set_random_seed(seed: int) -> None:
    """Python's, NumPy's and TensorFlow's random numbers from one seed."""
    from ..random import set_seed

    python_random.seed(seed)
    np.random.seed(seed)
    set_seed(seed)


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Labels as rows with a 1 at the label."""
    labels = np.asarray(x.numpy() if hasattr(x, "numpy") else x).astype("int64")
    shape = labels.shape
    if shape and shape[-1] == 1 and len(shape) > 1:
        shape = shape[:-1]
    flat = labels.reshape(-1)
    count = num_classes or int(flat.max()) + 1
    made = np.zeros((flat.size, count), np.float64)
    made[np.arange(flat.size), flat] = 1
    return made.reshape((*shape, count))


def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """Rows of length 1."""
    found = np.asarray(x)
    norms = np.atleast_1d(np.linalg.norm(found, order, axis))
    norms[norms == 0] = 1
    return found / np.expand_dims(norms, axis)


def pad_sequences(
    sequences: Any, maxlen: int | None = None, dtype: Any = "int32", padding: str = "pre",
    truncating: str = "pre", value: Any = 0.0,
) -> Any:
    """Lists of different lengths as one array."""
    lengths = [len(each) for each in sequences]
    size = max(lengths, default=0) if maxlen is None else maxlen
    sample = next((np.shape(each)[1:] for each in sequences if len(each)), ())
    made = np.full((len(lengths), size, *sample), value,
                   dtype=object if isinstance(value, str) or dtype == "object" else dtype)
    for i, each in enumerate(sequences):
        if not len(each):
            continue
        if truncating not in ("pre", "post") or padding not in ("pre", "post"):
            raise ValueError(f"Truncating and padding are \"pre\" or \"post\"; they are {truncating}, {padding}")
        kept = each[-size:] if truncating == "pre" else each[:size]
        kept = np.asarray(kept, dtype=dtype)
        if padding == "post":
            made[i, : len(kept)] = kept
        else:
            made[i, size - len(kept):] = kept
    return made


def image_dataset_from_directory(
    directory: Any, labels: Any = "inferred", label_mode: str | None = "int", class_names: Any = None,
    color_mode: str = "rgb", batch_size: int | None = 32, image_size: Any = (256, 256), shuffle: bool = True,
    seed: int | None = None, validation_split: float | None = None, subset: str | None = None,
    interpolation: str = "bilinear", follow_links: bool = False, crop_to_aspect_ratio: bool = False,
    **kwargs: Any,
) -> Any:
    """Pictures of a folder with a folder for each class, as a dataset of (image, label) batches."""
    for name in ("pad_to_aspect_ratio", "data_format", "verbose"):
        kwargs.pop(name, None)
    if kwargs or crop_to_aspect_ratio:
        raise NotImplementedError("image_dataset_from_directory: "
                                  f"{sorted(kwargs) or 'crop_to_aspect_ratio'} is not supported")
    folders = class_names or sorted(
        each for each in os.listdir(directory) if os.path.isdir(os.path.join(directory, each)))
    endings = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
    files: list[str] = []
    found: list[int] = []
    if labels is None or label_mode is None:
        for root, _, names in sorted(os.walk(directory)):
            files += [os.path.join(root, n) for n in sorted(names) if n.lower().endswith(endings)]
        label_mode = None
    else:
        for i, folder in enumerate(folders):
            for root, _, names in sorted(os.walk(os.path.join(directory, folder))):
                for name in sorted(names):
                    if name.lower().endswith(endings):
                        files.append(os.path.join(root, name))
                        found.append(i)
        if labels != "inferred":
            found = [int(each) for each in labels]
    if not files:
        raise ValueError(f"No images found in directory {directory}. Allowed formats: {endings}")
    if label_mode == "binary" and len(folders) != 2:
        raise ValueError("When passing `label_mode=\"binary\"`, there must be exactly 2 class_names.")
    print(f"Found {len(files)} files belonging to {len(folders) if label_mode else 1} classes.")
    order = np.arange(len(files))
    if shuffle:
        np.random.RandomState(seed if seed is not None else 1337).shuffle(order)
    if validation_split:
        if subset not in ("training", "validation"):
            raise ValueError("subset must be \"training\" or \"validation\" where validation_split is given")
        count = int(validation_split * len(files))
        order = order[:-count] if subset == "training" else order[-count:]
        print(f"Using {len(order)} files for {subset}.")
    return _pictures([files[i] for i in order], [found[i] for i in order] if found else [], label_mode,
                     folders, color_mode, batch_size, tuple(image_size), shuffle, seed, interpolation)


def _pictures(
    files: list[str], labels: list[int], label_mode: str | None, folders: Any, color_mode: str,
    batch_size: int | None, size: Any, shuffle: bool, seed: int | None, interpolation: str,
) -> Any:
    from ..data import Dataset
    from ..image import decode_image, resize
    from ..io import read_file

    channels = {"rgb": 3, "grayscale": 1, "rgba": 4}[color_mode]

    def picture(path: Any) -> Any:
        return resize(decode_image(read_file(path), channels=channels, expand_animations=False), size,
                      method=interpolation)

    if label_mode is None:
        made: Any = Dataset.from_tensor_slices(np.asarray(files, object)).map(picture)
    else:
        if label_mode == "categorical":
            given: Any = to_categorical(labels, len(folders)).astype(np.float32)
        elif label_mode == "binary":
            given = np.asarray(labels, np.float32)[:, None]
        else:
            given = np.asarray(labels, np.int32)
        made = Dataset.from_tensor_slices((np.asarray(files, object), given)).map(
            lambda path, label: (picture(path), label))
    if shuffle:
        made = made.shuffle(max((batch_size or 32) * 8, 1), seed=seed)
    if batch_size is not None:
        made = made.batch(batch_size)
    made = made.prefetch(2)
    for name, value in (("class_names", list(folders)), ("file_paths", files)):
        setattr(made, name, value)
    return made


def timeseries_dataset_from_array(
    data: Any, targets: Any, sequence_length: int, sequence_stride: int = 1, sampling_rate: int = 1,
    batch_size: int | None = 128, shuffle: bool = False, seed: int | None = None,
    start_index: int | None = None, end_index: int | None = None,
) -> Any:
    """Windows of a series, with the target at each window's start."""
    from ..data import Dataset

    values = np.asarray(data)
    begin = start_index or 0
    end = len(values) if end_index is None else end_index
    if targets is not None:
        last = min(end - begin - (sequence_length - 1) * sampling_rate, len(targets))
    else:
        last = end - begin - (sequence_length - 1) * sampling_rate
    starts = np.arange(0, last, sequence_stride)
    if shuffle:
        np.random.RandomState(1337 if seed is None else seed).shuffle(starts)
    at = begin + starts[:, None] + np.arange(sequence_length)[None, :] * sampling_rate
    windows = values[at]
    made = Dataset.from_tensor_slices(
        windows if targets is None else (windows, np.asarray(targets)[starts + begin]))
    return made.batch(batch_size).prefetch(2) if batch_size is not None else made


def text_dataset_from_directory(
    directory: Any, labels: Any = "inferred", label_mode: str | None = "int", class_names: Any = None,
    batch_size: int | None = 32, max_length: int | None = None, shuffle: bool = True,
    seed: int | None = None, validation_split: float | None = None, subset: str | None = None,
    follow_links: bool = False, **kwargs: Any,
) -> Any:
    """Text files of a folder with a folder for each class, as a dataset of (text, label) batches."""
    from ..data import Dataset

    folders = class_names or sorted(
        each for each in os.listdir(directory) if os.path.isdir(os.path.join(directory, each)))
    files: list[str] = []
    found: list[int] = []
    for i, folder in enumerate(folders):
        for root, _, names in sorted(os.walk(os.path.join(directory, folder))):
            for name in sorted(names):
                if name.endswith(".txt"):
                    files.append(os.path.join(root, name))
                    found.append(i)
    if not files:
        raise ValueError(f"No text files found in directory {directory}. Allowed format: .txt")
    order = np.arange(len(files))
    if shuffle:
        np.random.RandomState(seed if seed is not None else 1337).shuffle(order)
    if validation_split:
        count = int(validation_split * len(files))
        order = order[:-count] if subset == "training" else order[-count:]
    texts = []
    for at in order:
        with open(files[int(at)], "rb") as file:
            texts.append(file.read() if max_length is None else file.read()[:max_length])
    given: Any = np.asarray([found[i] for i in order], np.int32)
    if label_mode == "categorical":
        given = to_categorical(given, len(folders)).astype(np.float32)
    elif label_mode == "binary":
        given = given.astype(np.float32)[:, None]
    array = np.empty(len(texts), object)
    array[:] = texts
    made = Dataset.from_tensor_slices(array if label_mode is None else (array, given))
    if shuffle:
        made = made.shuffle(max(len(texts), 1), seed=seed)
    made = made.batch(batch_size) if batch_size is not None else made
    setattr(made, "class_names", list(folders))
    return made


def split_dataset(
    dataset: Any, left_size: Any = None, right_size: Any = None, shuffle: bool = False, seed: int | None = None
) -> tuple[Any, Any]:
    """Two datasets of the elements of one."""
    from ..data import Dataset

    if isinstance(dataset, (np.ndarray, list, tuple)):
        dataset = Dataset.from_tensor_slices(dataset)
    total = int(dataset.cardinality())
    if shuffle:
        dataset = dataset.shuffle(total, seed=seed, reshuffle_each_iteration=False)

    def size(given: Any) -> int:
        return math.floor(given * total) if isinstance(given, float) else int(given)

    left = size(left_size) if left_size is not None else total - size(right_size)
    right = size(right_size) if right_size is not None else total - left
    return dataset.take(left), dataset.skip(total - right)


def load_img(
    path: Any, color_mode: str = "rgb", target_size: Any = None, interpolation: str = "nearest", **_: Any
) -> Any:
    """A picture of a file, as an array of bytes [h, w, c]."""
    from ..image import decode_image, resize
    from ..io import read_file

    channels = {"rgb": 3, "grayscale": 1, "rgba": 4}[color_mode]
    made = decode_image(read_file(os.fspath(path)), channels=channels, expand_animations=False)
    if target_size is not None:
        made = resize(made, target_size, method=interpolation)
    return made.numpy().astype(np.uint8)


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> Any:
    found = np.asarray(img, dtype=dtype or "float32")
    found = found if found.ndim == 3 else found[..., None]
    return found.transpose(2, 0, 1) if data_format == "channels_first" else found


array_to_img = img_to_array


def get_file(
    fname: str | None = None, origin: str | None = None, untar: bool = False, cache_subdir: str = "datasets",
    extract: bool = False, cache_dir: str | None = None, **_: Any,
) -> str:
    """The path of a file that is in Keras's cache; nothing is downloaded."""
    folder = cache_dir or os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    name = fname or os.path.basename(origin or "")
    path = os.path.join(folder, cache_subdir, name)
    if os.path.exists(path):
        return path
    raise FileNotFoundError(f"there is no {path}, and nothing is downloaded here; put the file of {origin} there")


def _missing(name: str, way: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"keras.utils.{name} is not supported; {way}")

    return refuse


plot_model = _missing("plot_model", "use model.summary()")
model_to_dot = _missing("model_to_dot", "use model.summary()")
audio_dataset_from_directory = _missing("audio_dataset_from_directory", "read the files with tf.io")
FeatureSpace = _missing("FeatureSpace", "use preprocessing layers")
save_img = _missing("save_img", "use tf.io.encode_png and tf.io.write_file")
