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
from ._folders import (
    audio_dataset_from_directory as audio_dataset_from_directory,
    image_dataset_from_directory as image_dataset_from_directory,
    text_dataset_from_directory as text_dataset_from_directory,
)
from ._pictures import array_to_img as array_to_img, save_img as save_img
from ._utilities import (
    Progbar as Progbar, disable_interactive_logging as disable_interactive_logging,
    enable_interactive_logging as enable_interactive_logging, get_registered_name as get_registered_name,
    get_registered_object as get_registered_object, is_interactive_logging_enabled as is_interactive_logging_enabled,
    pack_x_y_sample_weight as pack_x_y_sample_weight, unpack_x_y_sample_weight as unpack_x_y_sample_weight,
)
from ._series import timeseries_dataset_from_array as timeseries_dataset_from_array

__all__ = [
    "CustomObjectScope", "FeatureSpace", "PyDataset", "Sequence", "array_to_img", "audio_dataset_from_directory",
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
FeatureSpace = _missing("FeatureSpace", "use preprocessing layers")


def __getattr__(name: str) -> Any:
    if name in ("deserialize_keras_object", "serialize_keras_object"):
        from . import saving

        return getattr(saving, name)
    if name in ("clear_session", "is_keras_tensor", "standardize_dtype"):
        from . import backend

        return getattr(backend, name)
    from .._names import missing

    missing(f"tf.keras.utils.{name}", list(globals()))
