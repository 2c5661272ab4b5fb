"""Pictures as arrays, as objects of Pillow, and in files."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np


def _scaled(x: Any, data_format: str | None, scale: bool, dtype: Any) -> Any:
    """An array [h, w, c]; with `scale`, from 0 to 255."""
    found = np.array(x, dtype=dtype or "float32")
    if found.ndim != 3:
        raise ValueError(
            f"Expected image array to have rank 3 (single image). Got array with shape: {found.shape}")
    if data_format == "channels_first":
        found = found.transpose(1, 2, 0)
    if found.shape[2] not in (1, 3, 4):
        raise ValueError(f"Unsupported channel number: {found.shape[2]}")
    if scale:
        found = found - found.min()
        largest = found.max()
        found = (found / largest if largest != 0 else found) * 255
    return found


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Any:
    """A picture of Pillow; `scale` stretches the values to 0 to 255."""
    try:
        image: Any = importlib.import_module("PIL.Image")
    except ImportError:
        raise ImportError(
            "Could not import PIL.Image. The use of `array_to_img` requires PIL (pip install pillow); "
            "keras.utils.save_img and tf.io.encode_png work without it") from None
    found = _scaled(x, data_format, scale, dtype)
    if found.shape[2] != 1:
        return image.fromarray(found.astype(np.uint8))
    wide = found.max() > 255
    return image.fromarray(found[:, :, 0].astype(np.int32 if wide else np.uint8))


def save_img(
    path: Any, x: Any, data_format: str | None = None, file_format: str | None = None, scale: bool = True, **kwargs: Any
) -> None:
    """Writes an array as a PNG or JPEG file.

    >>> tf.keras.utils.save_img("picture.png", np.random.rand(32, 32, 3))
    """
    from ..io import encode_jpeg, encode_png, write_file

    if kwargs:
        raise NotImplementedError(
            f"keras.utils.save_img({', '.join(kwargs)}) is not supported; use tf.io.encode_jpeg and tf.io.write_file")
    kind = (file_format or os.path.splitext(os.fspath(path))[1].lstrip(".")).lower()
    writers = {"png": encode_png, "jpg": encode_jpeg, "jpeg": encode_jpeg}
    if kind not in writers:
        raise NotImplementedError(f"keras.utils.save_img of a {kind!r} file is not supported; use .png or .jpg")
    found = _scaled(x, data_format, scale, None)
    if kind != "png":
        found = found[:, :, :3]
    write_file(os.fspath(path), writers[kind](found.astype(np.uint8)))


__all__ = ["array_to_img", "save_img"]
