"""keras.ops.image: pictures, channels last."""

from __future__ import annotations

from typing import Any

from ... import image as _image
from ._types import cast, floating, tensor


def _last(name: str, data_format: Any) -> None:
    if data_format == "channels_first":
        raise NotImplementedError(f"keras.ops.image.{name}(data_format='channels_first') is not supported; pictures "
                                  "are channels last")


def resize(
    images: Any, size: Any, interpolation: str = "bilinear", antialias: bool = False,
    crop_to_aspect_ratio: bool = False, pad_to_aspect_ratio: bool = False, fill_mode: str = "constant",
    fill_value: float = 0.0, data_format: Any = None,
) -> Any:
    """Pictures of another size, of the same type."""
    _last("resize", data_format)
    if crop_to_aspect_ratio or pad_to_aspect_ratio:
        raise NotImplementedError("keras.ops.image.resize with crop_to_aspect_ratio or pad_to_aspect_ratio is not "
                                  "supported; use tf.image.resize_with_pad, or crop first")
    made = tensor(images)
    found = _image.resize(made, tuple(int(each) for each in size), method=interpolation, antialias=antialias)
    if made.dtype.is_integer:
        from ... import _math

        found = _math.clip_by_value(_math.round(found), float(made.dtype.min), float(made.dtype.max)) if (
            found.dtype.is_floating) else found
    return cast(found, made.dtype)


def extract_patches(
    images: Any, size: Any, strides: Any = None, dilation_rate: Any = 1, padding: str = "valid", data_format: Any = None
) -> Any:
    _last("extract_patches", data_format)
    pair = (size, size) if isinstance(size, int) else tuple(size)
    step = pair if strides is None else (strides, strides) if isinstance(strides, int) else tuple(strides)
    wide = (dilation_rate, dilation_rate) if isinstance(dilation_rate, int) else tuple(dilation_rate)
    made = tensor(images)
    single = made.shape.rank == 3
    found = _image.extract_patches(made[None] if single else made, [1, *pair, 1], [1, *step, 1], [1, *wide, 1],
                                   padding.upper())
    return found[0] if single else found


def rgb_to_grayscale(images: Any, data_format: Any = None) -> Any:
    _last("rgb_to_grayscale", data_format)
    return _image.rgb_to_grayscale(tensor(images))


def rgb_to_hsv(images: Any, data_format: Any = None) -> Any:
    _last("rgb_to_hsv", data_format)
    return _image.rgb_to_hsv(floating(images))


def hsv_to_rgb(images: Any, data_format: Any = None) -> Any:
    _last("hsv_to_rgb", data_format)
    return _image.hsv_to_rgb(floating(images))


def crop_images(
    images: Any, top_cropping: int = 0, left_cropping: int = 0, bottom_cropping: int = 0, right_cropping: int = 0,
    target_height: int | None = None, target_width: int | None = None, data_format: Any = None,
) -> Any:
    _last("crop_images", data_format)
    made = tensor(images)
    height, width = int(made.shape[-3]), int(made.shape[-2])
    rows = height - top_cropping - bottom_cropping if target_height is None else target_height
    columns = width - left_cropping - right_cropping if target_width is None else target_width
    return _image.crop_to_bounding_box(made, top_cropping, left_cropping, rows, columns)


def pad_images(
    images: Any, top_padding: int = 0, left_padding: int = 0, bottom_padding: int = 0, right_padding: int = 0,
    target_height: int | None = None, target_width: int | None = None, data_format: Any = None,
) -> Any:
    _last("pad_images", data_format)
    made = tensor(images)
    height, width = int(made.shape[-3]), int(made.shape[-2])
    rows = height + top_padding + bottom_padding if target_height is None else target_height
    columns = width + left_padding + right_padding if target_width is None else target_width
    return _image.pad_to_bounding_box(made, top_padding, left_padding, rows, columns)
