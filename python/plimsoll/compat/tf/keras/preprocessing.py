"""keras.preprocessing, as far as it is not in keras.utils and keras.layers."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from .._convert import convert_to_tensor
from . import _folders, _generators, _text, utils
from .utils import (
    image_dataset_from_directory as image_dataset_from_directory,
    text_dataset_from_directory as text_dataset_from_directory,
    timeseries_dataset_from_array as timeseries_dataset_from_array,
)

__all__ = ["image", "image_dataset_from_directory", "sequence", "text", "text_dataset_from_directory",
           "timeseries_dataset_from_array"]


def smart_resize(x: Any, size: Any, interpolation: str = "bilinear", data_format: str = "channels_last") -> Any:
    """A picture of another size: its middle, without distortion."""
    if data_format != "channels_last":
        raise NotImplementedError("keras.preprocessing.image.smart_resize(data_format='channels_first') is not supported; transpose first")
    made = _folders.smart_resize(convert_to_tensor(x), size, interpolation)
    return made.numpy() if isinstance(x, np.ndarray) else made


sequence = types.SimpleNamespace(
    pad_sequences=utils.pad_sequences, skipgrams=_text.skipgrams, make_sampling_table=_text.make_sampling_table,
    TimeseriesGenerator=_generators.TimeseriesGenerator)
image = types.SimpleNamespace(
    load_img=utils.load_img, img_to_array=utils.img_to_array, array_to_img=utils.array_to_img,
    ImageDataGenerator=_generators.ImageDataGenerator, smart_resize=smart_resize)
text = types.SimpleNamespace(
    Tokenizer=_text.Tokenizer, one_hot=_text.one_hot, text_to_word_sequence=_text.text_to_word_sequence)
