"""Brightness, contrast, colours: given, or drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm

from .. import _arrays, _math, _operators, _program, _reduce
from .._convert import convert_to_tensor
from .._dtypes import float32
from .._program import composed
from .._tensor import Tensor
from ._convert import as_floats, convert_image_dtype, floats, hsv_to_rgb, picture, rgb_to_hsv


def drawn(like: Any, low: float, high: float, seed: Any = None, whole: bool = False) -> Any:
    """A number from `low` to below `high`: for each element and epoch where Dataset.map traces."""
    found = _program.find(like)
    if found is not None:
        made = _program.record(
            "draw_uniform", [], found, shape=[], dtype=pm.i64 if whole else pm.f32, low=float(low), high=float(high)
        )
        return Tensor(made[0])
    from .. import random

    return random.uniform([], low, high, dtype="int64" if whole else "float32", seed=seed)


class _Stateless:
    """Draws that depend on a seed of two numbers alone."""

    def __init__(self, seed: Any) -> None:
        values = convert_to_tensor(seed).numpy().ravel()
        self._rng = np.random.Generator(np.random.Philox(key=[int(each) & ((1 << 63) - 1) for each in values]))

    def number(self, low: float, high: float) -> float:
        return float(np.float32(self._rng.uniform(low, high)))

    def integer(self, below: int) -> int:
        return int(self._rng.integers(below))


def stateless(seed: Any) -> _Stateless:
    return _Stateless(seed)


def _range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


@composed
def adjust_brightness(image: Any, delta: Any) -> Any:
    """`delta` added, on the scale of 0 to 1."""
    x = convert_to_tensor(image)
    flat = as_floats(x)
    made = flat + (_math.cast(delta, flat.dtype) if isinstance(delta, Tensor) else delta)
    return convert_image_dtype(made, x.dtype, saturate=True)


@composed
def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """Away from each channel's mean."""
    x = picture(images)
    flat = as_floats(x)
    if flat.dtype != float32:
        flat = _math.cast(flat, float32)
    mean = _reduce.reduce_mean(flat, axis=[-3, -2], keepdims=True)
    made = (flat - mean) * contrast_factor + mean
    return convert_image_dtype(made, x.dtype, saturate=True)


def _in_hsv(image: Any, change: Any) -> Any:
    x = convert_to_tensor(image)
    flat = as_floats(x)
    hsv = rgb_to_hsv(flat)
    h, s, v = (hsv[..., i:i + 1] for i in range(3))
    made = hsv_to_rgb(_arrays.concat(list(change(h, s, v)), axis=-1))
    return convert_image_dtype(made, x.dtype, saturate=True)


@composed
def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Any:
    """The saturation times a factor."""
    return _in_hsv(image, lambda h, s, v: (h, _math.clip_by_value(s * saturation_factor, 0.0, 1.0), v))


@composed
def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Any:
    """The hue turned by a share of a full turn."""
    if not isinstance(delta, Tensor) and not -1 <= float(delta) <= 1:
        raise ValueError("delta must be in the interval [-1, 1]")

    def turned(h: Tensor, s: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        moved = h + delta
        return moved - _math.floor(moved), s, v

    return _in_hsv(image, turned)


@composed
def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
    """gain * image ** gamma, on the scale of 0 to 1."""
    if not isinstance(gamma, Tensor) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    x = convert_to_tensor(image)
    flat = as_floats(x)
    made = _operators.pow(flat, float(gamma) if not isinstance(gamma, Tensor) else gamma) * float(gain)
    return convert_image_dtype(made, x.dtype, saturate=True)


@composed
def adjust_jpeg_quality(image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None) -> Any:
    """What is left of a picture as a JPEG of that quality."""
    from ..io import decode_jpeg, encode_jpeg

    x = convert_to_tensor(image)
    packed = encode_jpeg(convert_image_dtype(x, "uint8", saturate=True), quality=int(jpeg_quality))
    made: Tensor = decode_jpeg(packed, channels=x.shape[-1] or 3, dct_method=dct_method)
    return convert_image_dtype(made, x.dtype, saturate=True)


@composed
def per_image_standardization(image: Any) -> Any:
    """(image - mean) / deviation, the deviation being at least 1 / sqrt(pixels)."""
    x = picture(image)
    flat = x if x.dtype in floats else _math.cast(x, float32)
    axes = [-3, -2, -1]
    count = np.prod([each if each is not None else np.nan for each in x.shape[-3:]])
    if np.isnan(count):
        raise TypeError("how many pixels there are is not known")
    mean = _reduce.reduce_mean(flat, axis=axes, keepdims=True)
    variance = _reduce.reduce_mean(_operators.square(flat - mean), axis=axes, keepdims=True)
    deviation = _operators.maximum(_operators.sqrt(variance), float(1 / np.sqrt(count)))
    return (flat - mean) / deviation


# -- drawn -----------------------------------------------------------------------------------------


def random_brightness(image: Any, max_delta: float, seed: Any = None) -> Any:
    """Brightness changed by -max_delta to max_delta."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, drawn(image, -max_delta, max_delta, seed))


def random_contrast(image: Any, lower: float, upper: float, seed: Any = None) -> Any:
    _range(lower, upper)
    return adjust_contrast(image, drawn(image, lower, upper, seed))


def random_saturation(image: Any, lower: float, upper: float, seed: Any = None) -> Any:
    _range(lower, upper)
    return adjust_saturation(image, drawn(image, lower, upper, seed))


def random_hue(image: Any, max_delta: float, seed: Any = None) -> Any:
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be <= 0.5 and non-negative.")
    return adjust_hue(image, drawn(image, -max_delta, max_delta, seed))


def random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any = None) -> Any:
    if not 0 <= min_jpeg_quality < max_jpeg_quality <= 100:
        raise ValueError("0 <= min_jpeg_quality < max_jpeg_quality <= 100 must hold")
    return adjust_jpeg_quality(image, drawn(image, min_jpeg_quality, max_jpeg_quality, seed, whole=True))


def stateless_random_brightness(image: Any, max_delta: float, seed: Any) -> Any:
    return _seeded(adjust_brightness, image, seed, -max_delta, max_delta)


def stateless_random_contrast(image: Any, lower: float, upper: float, seed: Any) -> Any:
    _range(lower, upper)
    return _seeded(adjust_contrast, image, seed, lower, upper)


def stateless_random_saturation(image: Any, lower: float, upper: float, seed: Any = None) -> Any:
    _range(lower, upper)
    return _seeded(adjust_saturation, image, seed, lower, upper)


def stateless_random_hue(image: Any, max_delta: float, seed: Any) -> Any:
    return _seeded(adjust_hue, image, seed, -max_delta, max_delta)


def stateless_random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any) -> Any:
    return _seeded(adjust_jpeg_quality, image, seed, min_jpeg_quality, max_jpeg_quality)


def _seeded(function: Any, image: Any, seed: Any, low: float, high: float) -> Any:
    @composed
    def stateless_random(picture_: Any, given: Any) -> Any:
        return function(picture_, stateless(given).number(low, high))

    return stateless_random(image, seed)
