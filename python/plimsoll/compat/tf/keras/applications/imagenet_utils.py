"""What the models of keras.applications share: inputs, pooling and top, preprocessing, weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import layers
from ..models import Model

_MEAN_BGR = (103.939, 116.779, 123.68)
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Pixels of 0 to 255 as a model expects them. `mode`: "tf" -1 to 1, "torch" normalised, "caffe"
    BGR less the mean."""
    if data_format == "channels_first":
        raise NotImplementedError("preprocess_input(data_format='channels_first') is not supported; pictures are "
                                  "channels last")
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"Expected mode to be one of `caffe`, `tf` or `torch`. Received: mode={mode}")
    if isinstance(x, np.ndarray) and not issubclass(x.dtype.type, np.floating):
        x = x.astype("float32")
    elif not isinstance(x, np.ndarray):
        from ..._convert import convert_to_tensor
        from ..._math import cast

        x = convert_to_tensor(x)
        x = x if x.dtype.is_floating else cast(x, "float32")
    if mode == "tf":
        return x / 127.5 - 1.0
    if mode == "torch":
        return (x / 255.0 - _as(_MEAN, x)) / _as(_DEVIATION, x)
    return x[..., ::-1] - _as(_MEAN_BGR, x)


def _as(values: tuple[float, ...], like: Any) -> Any:
    if isinstance(like, np.ndarray):
        return np.asarray(values, like.dtype)
    from ..._convert import convert_to_tensor

    return convert_to_tensor(values, like.dtype)


def decode_predictions(preds: Any, top: int = 5) -> Any:
    raise NotImplementedError("decode_predictions is not supported: it downloads the names of ImageNet's classes; "
                              "use np.argsort(preds)[:, ::-1][:, :top]")


def picture(input_tensor: Any, input_shape: Any, usual: int, least: int, include_top: bool, weights: Any) -> Any:
    """The symbolic pictures that a model begins with."""
    if weights == "imagenet":
        raise NotImplementedError(
            "weights='imagenet' of keras.applications is not supported: nothing is downloaded; give weights=None, or "
            "the path of a file that model.save_weights() wrote"
        )
    if weights is not None and not Path(weights).exists():
        raise ValueError(f"The `weights` argument should be None or the path of a file, and {weights!r} is not there")
    if input_tensor is not None:
        return input_tensor
    if input_shape is None:
        input_shape = (usual, usual, 3) if include_top else (None, None, 3)
    if len(input_shape) != 3:
        raise ValueError(f"`input_shape` must be a tuple of three integers. Received: {tuple(input_shape)}")
    height, width, _ = input_shape
    if (height is not None and height < least) or (width is not None and width < least):
        raise ValueError(f"Input size must be at least {least}x{least}; Received: input_shape={tuple(input_shape)}")
    if include_top and None in tuple(input_shape):
        raise ValueError("If `include_top` is True, you should specify a static `input_shape`. "
                         f"Received: input_shape={tuple(input_shape)}")
    return layers.Input(shape=tuple(input_shape))


def pooled(x: Any, pooling: str | None, names: bool = True) -> Any:
    """The end of a model without its top."""
    if pooling == "avg":
        return layers.GlobalAveragePooling2D(name="avg_pool" if names else None)(x)
    if pooling == "max":
        return layers.GlobalMaxPooling2D(name="max_pool" if names else None)(x)
    return x


def finished(inputs: Any, outputs: Any, name: str, weights: Any) -> Any:
    model = Model(inputs, outputs, name=name)
    if weights is not None:
        model.load_weights(weights)
    return model


def padding_of(x: Any, kernel: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Zeros for a convolution with a stride of 2, as TensorFlow's own models have them."""
    half = kernel // 2
    before = [half - (1 if size is None else 1 - int(size) % 2) for size in (x.shape[1], x.shape[2])]
    return (before[0], half), (before[1], half)


def activated(x: Any, name: str, kind: Any = "relu") -> Any:
    return layers.Activation(kind, name=name)(x)
