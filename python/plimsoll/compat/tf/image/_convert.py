"""What pictures are: dtypes, colours, channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _arrays, _math, _operators, _program, _reduce
from .._convert import convert_to_tensor
from .._dtypes import as_dtype, float16, float32
from .._errors import InvalidArgumentError
from .._program import composed
from .._tensor import Tensor

floats = (float16, float32)


def picture(images: Any) -> Any:
    """A tensor of pictures: [height, width, channels], or a batch."""
    made = convert_to_tensor(images)
    if made.shape.rank is not None and made.shape.rank < 3:
        raise ValueError(f"'images' must be at least three-dimensional, not of shape {made.shape}")
    return made


@composed
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Any:
    """Another dtype: integers span their range, floats 0 to 1; floats to floats stay as they are."""
    x, want = convert_to_tensor(image), as_dtype(dtype)
    has = x.dtype
    if not (want.is_floating or want.is_integer):
        raise AttributeError("dtype must be either floating point or integer")
    if has == want:
        return x
    convert = _math.saturate_cast if saturate else _math.cast
    if has.is_integer and want.is_integer:
        if has.max > want.max:
            by = (has.max + 1) // (want.max + 1)
            return convert(_operators.floordiv(x, _number(by, x)), want)
        by = (want.max + 1) // (has.max + 1)
        wide = convert(x, want)
        return wide * _number(by, wide)
    if has.is_floating and want.is_floating:
        return _math.cast(x, want)
    if has.is_integer:
        made = _math.cast(x, want)
        return made * convert_to_tensor(1.0 / has.max, want)
    scaled = x * (want.max + 0.5)
    if saturate:
        scaled = _math.clip_by_value(scaled, *_limits(has, want))
    return _math.cast(scaled, want)


def _limits(has: Any, want: Any) -> tuple[float, float]:
    """The range of an integer dtype in floats, within it."""
    kind = has.as_numpy_dtype
    with np.errstate(over="ignore"):
        least, most = kind(want.min), kind(want.max)
    if float(most) > want.max:
        most = np.nextafter(most, kind(0))
    return float(least), float(most)


def _number(value: int, like: Tensor) -> Any:
    return convert_to_tensor(value, like.dtype)


def as_floats(image: Tensor) -> Any:
    return image if image.dtype in floats else convert_image_dtype(image, float32)


def _last_is(image: Tensor, count: int) -> None:
    last = image.shape[-1]
    if last is not None and last != count:
        raise ValueError(f"the last dimension must be {count}, not {last}: {image.shape}")


@composed
def rgb_to_grayscale(images: Any, name: str | None = None) -> Any:
    """One channel: 0.2989 red, 0.587 green, 0.114 blue."""
    x = convert_to_tensor(images)
    _last_is(x, 3)
    flat = convert_image_dtype(x, float32)
    gray = _reduce.reduce_sum(flat * convert_to_tensor([0.2989, 0.5870, 0.1140], float32), axis=-1, keepdims=True)
    return convert_image_dtype(gray, x.dtype)


@composed
def grayscale_to_rgb(images: Any, name: str | None = None) -> Any:
    """The one channel three times."""
    x = convert_to_tensor(images)
    _last_is(x, 1)
    return _arrays.concat([x, x, x], axis=-1)


def _colours(name: str, images: Any) -> Any:
    x = convert_to_tensor(images)
    if not x.dtype.is_floating:
        raise InvalidArgumentError(None, None, f"{name} takes floats, not {x.dtype.name}; use tf.image.convert_image_dtype")
    _last_is(x, 3)
    if x.dtype != float32:
        return _math.cast(_colours(name, _math.cast(x, float32)), x.dtype)
    return Tensor(_program.run(name, [x._value]))


def rgb_to_hsv(images: Any, name: str | None = None) -> Any:
    """Colours as hue, saturation, value."""
    return _recorded(_colours, "rgb_to_hsv", images)


def hsv_to_rgb(images: Any, name: str | None = None) -> Any:
    """Hue, saturation, value as colours."""
    return _recorded(_colours, "hsv_to_rgb", images)


def _recorded(function: Any, name: str, images: Any) -> Any:
    """Symbolic records, which have no values yet, are refused by name."""
    x = convert_to_tensor(images)
    if not isinstance(x._value, _program.Symbolic) and not x.is_concrete:
        raise NotImplementedError(
            f"tf.image.{name} in tf.function, a graph or a model is not supported by plimsoll.compat.tf; "
            "use it in Dataset.map"
        )
    return function(name, x)


_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YUV = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]
_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_FROM_YIQ = [[1.0, 1.0, 1.0], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]


def _by(images: Any, matrix: Any) -> Any:
    x = convert_to_tensor(images)
    _last_is(x, 3)
    return _math.tensordot(x, convert_to_tensor(matrix, x.dtype), axes=[[len(x.shape) - 1], [0]])


@composed
def rgb_to_yuv(images: Any) -> Any:
    return _by(images, _YUV)


@composed
def yuv_to_rgb(images: Any) -> Any:
    return _by(images, _FROM_YUV)


@composed
def rgb_to_yiq(images: Any) -> Any:
    return _by(images, _YIQ)


@composed
def yiq_to_rgb(images: Any) -> Any:
    return _by(images, _FROM_YIQ)
