"""ImageDataGenerator: batches of pictures that are changed at random, from arrays and folders.

Random numbers come from NumPy's global generator in Keras's order, so that the same seed gives the same
pictures. New programs use image_dataset_from_directory and layers such as RandomFlip, which run on the
pipeline's threads.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, Iterator

import numpy as np

from ._affine import affine, brightness, channel_shift
from .utils import PyDataset, load_img

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".tif", ".tiff")


class Batches(PyDataset):
    """Batches by number, and without end as an iterator."""

    def __init__(self, count: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        super().__init__()
        self.n = self.samples = count
        self.batch_size, self.shuffle, self.seed = batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.index_array: Any = None

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def _draw_order(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _begin(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1

    def __getitem__(self, index: int) -> Any:
        if index >= len(self):
            raise ValueError(f"Asked to retrieve element {index}, but the Sequence has length {len(self)}")
        self._begin()
        if self.index_array is None:
            self._draw_order()
        return self._batch(self.index_array[self.batch_size * index:self.batch_size * (index + 1)])

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._begin()
        if self.batch_index == 0:
            self._draw_order()
        begin = self.batch_index * self.batch_size
        self.batch_index = self.batch_index + 1 if begin + self.batch_size < self.n else 0
        return self._batch(self.index_array[begin:begin + self.batch_size])

    next = __next__

    def reset(self) -> None:
        self.batch_index = 0

    def on_epoch_end(self) -> None:
        self._draw_order()

    def _batch(self, rows: Any) -> Any:
        raise NotImplementedError


class ArrayBatches(Batches):
    """Rows of an array, changed at random."""

    def __init__(
        self, x: Any, y: Any, generator: Any, batch_size: int, shuffle: bool, sample_weight: Any, seed: int | None,
        subset: str | None,
    ) -> None:
        more: Any = []
        if isinstance(x, (list, tuple)):
            x, more = x[0], [np.asarray(each) for each in x[1:]]
        self.x, self._more = np.asarray(x), more
        self.y = None if y is None else np.asarray(y)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)
        for name, each in (("y", self.y), ("sample_weight", self.sample_weight)):
            if each is not None and len(each) != len(self.x):
                raise ValueError(f"`x` and `{name}` should have the same length. Found: x.shape = {self.x.shape}, "
                                 f"{name}.shape = {each.shape}")
        if self.x.ndim != 4:
            raise ValueError("Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape "
                             f"{self.x.shape}")
        if subset is not None:
            self._part(subset, generator._validation_split)
        self._generator = generator
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _part(self, subset: str, share: float) -> None:
        if subset not in ("training", "validation"):
            raise ValueError(f"Invalid subset name: {subset}; expected \"training\" or \"validation\".")
        at = int(len(self.x) * share)
        rows = slice(at) if subset == "validation" else slice(at, None)
        self.x, self._more = self.x[rows], [each[rows] for each in self._more]
        self.y = None if self.y is None else self.y[rows]
        self.sample_weight = None if self.sample_weight is None else self.sample_weight[rows]

    def _batch(self, rows: Any) -> Any:
        made = np.zeros((len(rows), *self.x.shape[1:]), self._generator.dtype)
        for i, row in enumerate(rows):
            made[i] = self._generator._changed(self.x[row].astype(self._generator.dtype))
        first: Any = [made, *(each[rows] for each in self._more)] if self._more else made
        if self.y is None:
            return first
        found = (first, self.y[rows])
        return found if self.sample_weight is None else (*found, self.sample_weight[rows])


class FileBatches(Batches):
    """Pictures of files with a class each, changed at random."""

    def __init__(
        self, files: list[str], labels: Any, generator: Any, size: Any, color_mode: str, class_mode: str | None,
        class_indices: dict[str, int], batch_size: int, shuffle: bool, seed: int | None, interpolation: str,
    ) -> None:
        if class_mode not in ("categorical", "binary", "sparse", "input", "raw", None):
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: categorical, binary, sparse, input, None")
        if color_mode not in _CHANNELS:
            raise ValueError(f"Invalid color mode: {color_mode}; expected \"rgb\", \"rgba\", or \"grayscale\".")
        self.filepaths, self.class_mode, self.class_indices = files, class_mode, class_indices
        self.classes = self.labels = labels
        self.num_classes, self.color_mode = len(class_indices), color_mode
        self.target_size = tuple(size)
        self.image_shape = (*self.target_size, _CHANNELS[color_mode])
        self._generator, self._interpolation = generator, interpolation
        super().__init__(len(files), batch_size, shuffle, seed)

    def _batch(self, rows: Any) -> Any:
        dtype = self._generator.dtype
        made = np.zeros((len(rows), *self.image_shape), dtype)
        for i, row in enumerate(rows):
            made[i] = self._generator._changed(load_img(
                self.filepaths[row], self.color_mode, self.target_size, self._interpolation).astype(dtype))
        if self.class_mode is None:
            return made
        if self.class_mode == "input":
            return made, made.copy()
        found = self.classes[rows]
        if self.class_mode == "categorical":
            return made, np.eye(self.num_classes, dtype=dtype)[found]
        return made, found.astype(dtype) if self.class_mode != "raw" else found


_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}


class ImageDataGenerator:
    """Pictures that are changed at random.

    >>> generator = tf.keras.preprocessing.image.ImageDataGenerator(rotation_range=20, horizontal_flip=True)
    >>> model.fit(generator.flow(x, y, batch_size=32))
    """

    def __init__(
        self, featurewise_center: bool = False, samplewise_center: bool = False,
        featurewise_std_normalization: bool = False, samplewise_std_normalization: bool = False,
        zca_whitening: bool = False, zca_epsilon: float = 1e-6, rotation_range: float = 0, width_shift_range: Any = 0.0,
        height_shift_range: Any = 0.0, brightness_range: Any = None, shear_range: float = 0.0, zoom_range: Any = 0.0,
        channel_shift_range: float = 0.0, fill_mode: str = "nearest", cval: float = 0.0, horizontal_flip: bool = False,
        vertical_flip: bool = False, rescale: float | None = None, preprocessing_function: Any = None,
        data_format: str | None = None, validation_split: float = 0.0, interpolation_order: int = 1, dtype: Any = None,
    ) -> None:
        if zca_whitening:
            raise NotImplementedError("ImageDataGenerator(zca_whitening=True) is not supported; use "
                                      "featurewise_std_normalization, or whiten the arrays before")
        if data_format not in (None, "channels_last"):
            raise NotImplementedError(f"ImageDataGenerator(data_format={data_format!r}) is not supported: pictures are "
                                      "channels_last")
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"`validation_split` must be strictly between 0 and 1. Received: {validation_split}")
        self.featurewise_std_normalization, self.samplewise_std_normalization = (
            featurewise_std_normalization, samplewise_std_normalization)
        self.featurewise_center = featurewise_center or featurewise_std_normalization
        self.samplewise_center = samplewise_center or samplewise_std_normalization
        self.rotation_range, self.shear_range, self.channel_shift_range = rotation_range, shear_range, channel_shift_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.brightness_range = _pair(brightness_range, "brightness_range") if brightness_range is not None else None
        self.zoom_range = [1 - zoom_range, 1 + zoom_range] if isinstance(zoom_range, (int, float)) else _pair(
            zoom_range, "zoom_range")
        self.fill_mode, self.cval, self.interpolation_order = fill_mode, cval, interpolation_order
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.dtype = np.dtype(dtype or "float32")
        self._validation_split = validation_split
        self.mean: Any = None
        self.std: Any = None

    # Where the pictures come from.

    def flow(
        self, x: Any, y: Any = None, batch_size: int = 32, shuffle: bool = True, sample_weight: Any = None,
        seed: int | None = None, save_to_dir: Any = None, save_prefix: str = "", save_format: str = "png",
        ignore_class_split: bool = False, subset: str | None = None,
    ) -> ArrayBatches:
        """Batches of an array [n, h, w, c]."""
        _no_files(save_to_dir)
        return ArrayBatches(x, y, self, batch_size, shuffle, sample_weight, seed, subset)

    def flow_from_directory(
        self, directory: Any, target_size: Any = (256, 256), color_mode: str = "rgb", classes: Any = None,
        class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
        save_to_dir: Any = None, save_prefix: str = "", save_format: str = "png", follow_links: bool = False,
        subset: str | None = None, interpolation: str = "nearest", keep_aspect_ratio: bool = False,
    ) -> FileBatches:
        """Batches of a folder with a folder for each class."""
        _no_files(save_to_dir)
        if keep_aspect_ratio:
            raise NotImplementedError("flow_from_directory(keep_aspect_ratio=True) is not supported")
        folder = os.fspath(directory)
        names = list(classes) if classes else sorted(
            each for each in os.listdir(folder) if os.path.isdir(os.path.join(folder, each)))
        files: list[str] = []
        labels: list[int] = []
        for i, name in enumerate(names):
            found = []
            for root, _, inner in sorted(os.walk(os.path.join(folder, name), followlinks=follow_links)):
                found += [os.path.join(root, each) for each in sorted(inner) if each.lower().endswith(_ENDINGS)]
            found = found[self._rows(len(found), subset)]
            files += found
            labels += [i] * len(found)
        print(f"Found {len(files)} images belonging to {len(names)} classes.")
        made = FileBatches(
            files, np.asarray(labels, np.int32), self, target_size, color_mode, class_mode,
            {name: i for i, name in enumerate(names)}, batch_size, shuffle, seed, interpolation)
        setattr(made, "filenames", [os.path.relpath(each, folder) for each in files])
        return made

    def flow_from_dataframe(self, dataframe: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("ImageDataGenerator.flow_from_dataframe is not supported; use tf.data.Dataset."
                                  "from_tensor_slices((df[\"filename\"], labels)) with map and tf.io.read_file")

    def _rows(self, count: int, subset: str | None) -> slice:
        if subset is None:
            return slice(count)
        if subset not in ("training", "validation"):
            raise ValueError(f"Invalid subset name: {subset};expected \"training\" or \"validation\"")
        at = int(self._validation_split * count)
        return slice(at) if subset == "validation" else slice(at, count)

    # What is done to one.

    def get_random_transform(self, img_shape: Any, seed: int | None = None) -> dict[str, Any]:
        """What will be done to a picture, drawn."""
        if seed is not None:
            np.random.seed(seed)
        draw: Any = np.random.uniform
        theta = draw(-self.rotation_range, self.rotation_range) if self.rotation_range else 0
        tx, ty = _shift(self.height_shift_range, img_shape[0]), _shift(self.width_shift_range, img_shape[1])
        shear = draw(-self.shear_range, self.shear_range) if self.shear_range else 0
        zx, zy = (1, 1) if list(self.zoom_range) == [1, 1] else draw(*self.zoom_range, 2)
        found = {"theta": theta, "tx": tx, "ty": ty, "shear": shear, "zx": zx, "zy": zy,
                 "flip_horizontal": (np.random.random() < 0.5) * self.horizontal_flip,
                 "flip_vertical": (np.random.random() < 0.5) * self.vertical_flip}
        shift = self.channel_shift_range
        found["channel_shift_intensity"] = draw(-shift, shift) if shift else None
        found["brightness"] = draw(*self.brightness_range) if self.brightness_range is not None else None
        return found

    def apply_transform(self, x: Any, transform_parameters: dict[str, Any]) -> Any:
        """A picture with that done."""
        given = transform_parameters
        moves = {name: given[name] for name in ("theta", "tx", "ty", "shear", "zx", "zy") if name in given}
        x = affine(x, **moves, fill_mode=self.fill_mode, cval=self.cval, order=self.interpolation_order)
        if given.get("channel_shift_intensity") is not None:
            x = channel_shift(x, given["channel_shift_intensity"])
        if given.get("flip_horizontal"):
            x = x[:, ::-1]
        if given.get("flip_vertical"):
            x = x[::-1]
        return x if given.get("brightness") is None else brightness(x, given["brightness"])

    def random_transform(self, x: Any, seed: int | None = None) -> Any:
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def _changed(self, x: Any) -> Any:
        return self.standardize(self.random_transform(x))

    def standardize(self, x: Any) -> Any:
        """Scaled and centred as the generator says."""
        if self.preprocessing_function is not None:
            x = self.preprocessing_function(x)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x = x / (np.std(x, keepdims=True) + 1e-6)
        if self.featurewise_center:
            if self.mean is None:
                warnings.warn("This ImageDataGenerator specifies `featurewise_center`, but it hasn't been fit on any "
                              "training data. Fit it first by calling `.fit(numpy_data)`.", stacklevel=2)
                return x
            x = x - self.mean
            if self.featurewise_std_normalization:
                x = x / (self.std + 1e-6)
        return x

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Finds the mean and the deviation of the channels."""
        found = np.asarray(x, self.dtype)
        if found.ndim != 4:
            raise ValueError(f"Input to `.fit()` should have rank 4. Got array with shape: {found.shape}")
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            found = found * self.rescale
        if augment:
            found = np.stack([self.random_transform(each) for _ in range(rounds) for each in found])
        if self.featurewise_center:
            self.mean = found.mean(axis=(0, 1, 2), keepdims=True)[0]
        if self.featurewise_std_normalization:
            self.std = (found - self.mean).std(axis=(0, 1, 2), keepdims=True)[0]


def _shift(given: Any, extent: int) -> Any:
    """How far to move: a share of the extent below 1, else pixels; one of several, or up to one."""
    if not np.any(given):
        return 0
    if isinstance(given, (list, tuple, np.ndarray)) or (isinstance(given, int)):
        found = np.random.choice(given) * np.random.choice([-1, 1])
    else:
        found = np.random.uniform(-given, given)
    return found * extent if np.max(given) < 1 else found


def _pair(value: Any, name: str) -> list[float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f"`{name}` should be a float or a tuple or list of two floats. Received: {value}")
    return [float(value[0]), float(value[1])]


def _no_files(save_to_dir: Any) -> None:
    if save_to_dir is not None:
        raise NotImplementedError("save_to_dir is not supported: iterate over the batches and write them with "
                                  "tf.io.encode_png and tf.io.write_file")


class TimeseriesGenerator(PyDataset):
    """Batches by number, of windows and what comes after each: the older way."""

    def __init__(
        self, data: Any, targets: Any, length: int, sampling_rate: int = 1, stride: int = 1, start_index: int = 0,
        end_index: int | None = None, shuffle: bool = False, reverse: bool = False, batch_size: int = 128,
    ) -> None:
        super().__init__()
        if len(data) != len(targets):
            raise ValueError(f"Data and targets have to be of same length. Data length is {len(data)} while target length is "
                             f"{len(targets)}")
        self.data, self.targets, self.length = data, targets, length
        self.sampling_rate, self.stride, self.shuffle, self.reverse = sampling_rate, stride, shuffle, reverse
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.batch_size = batch_size
        if self.start_index > self.end_index:
            raise ValueError(f"`start_index+length={self.start_index} > end_index={self.end_index}` is disallowed, as no part "
                             "of the sequence would be left to be used as current step.")

    def __len__(self) -> int:
        step = self.batch_size * self.stride
        return (self.end_index - self.start_index + step) // step

    def __getitem__(self, index: int) -> Any:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            begin = self.start_index + self.batch_size * self.stride * index
            rows = np.arange(begin, min(begin + self.batch_size * self.stride, self.end_index + 1), self.stride)
        samples = np.array([self.data[row - self.length:row:self.sampling_rate] for row in rows])
        targets = np.array([self.targets[row] for row in rows])
        return (samples[:, ::-1, ...] if self.reverse else samples), targets
