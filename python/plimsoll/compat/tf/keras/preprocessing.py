"""keras.preprocessing, as far as it is not in keras.utils and keras.layers."""

from __future__ import annotations

import types
from typing import Any

from . import _generators, _text, utils
from .utils import (
    image_dataset_from_directory as image_dataset_from_directory,
    text_dataset_from_directory as text_dataset_from_directory,
    timeseries_dataset_from_array as timeseries_dataset_from_array,
)

__all__ = ["image", "image_dataset_from_directory", "sequence", "text", "text_dataset_from_directory",
           "timeseries_dataset_from_array"]


def _gone(name: str, way: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"keras.preprocessing.{name} is not supported; {way}")

    return refuse


sequence = types.SimpleNamespace(
    pad_sequences=utils.pad_sequences, skipgrams=_text.skipgrams, make_sampling_table=_text.make_sampling_table,
    TimeseriesGenerator=_gone("sequence.TimeseriesGenerator", "use keras.utils.timeseries_dataset_from_array"))
image = types.SimpleNamespace(
    load_img=utils.load_img, img_to_array=utils.img_to_array, array_to_img=utils.array_to_img,
    ImageDataGenerator=_generators.ImageDataGenerator)
text = types.SimpleNamespace(
    Tokenizer=_text.Tokenizer, one_hot=_text.one_hot, text_to_word_sequence=_text.text_to_word_sequence)
