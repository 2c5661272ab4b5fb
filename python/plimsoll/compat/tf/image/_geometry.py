"""Parts of pictures, borders, flips and turns."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm

from .. import _arrays, _program
from .._convert import convert_to_tensor
from .._errors import InvalidArgumentError
from .._program import composed, find
from .._tensor import Tensor
from ._adjust import drawn, stateless
from ._convert import picture


def known(value: Any, what: str) -> int:
    """A size or place that must be known."""
    if isinstance(value, Tensor):
        if not value.is_concrete:
            raise TypeError(f"{what} must be known when the function is traced")
        value = value.numpy()
    return int(value)


def _extents(x: Tensor) -> tuple[int, int]:
    height, width = x.shape[-3], x.shape[-2]
    if height is None or width is None:
        raise TypeError("the size of the picture is not known when the function is traced")
    return int(height), int(width)


@composed
def flip_left_right(image: Any) -> Any:
    x = picture(image)
    if isinstance(x._value, _program.Symbolic) and _is_plain(x):
        return Tensor(_program.record("flip_left_right", [x._value])[0])
    return _arrays.reverse(x, axis=[-2])


@composed
def flip_up_down(image: Any) -> Any:
    x = picture(image)
    if isinstance(x._value, _program.Symbolic) and _is_plain(x):
        return Tensor(_program.record("flip_up_down", [x._value])[0])
    return _arrays.reverse(x, axis=[-3])


def _is_plain(x: Tensor) -> bool:
    return x.shape.rank == 3 and x._value.dtype in (pm.u8, pm.f32)


@composed
def transpose(image: Any, name: str | None = None) -> Any:
    """Rows as columns."""
    x = picture(image)
    return _arrays.transpose(x, [1, 0, 2] if x.shape.rank == 3 else [0, 2, 1, 3])


@composed
def rot90(image: Any, k: Any = 1, name: str | None = None) -> Any:
    """Turned counter-clockwise by quarter turns."""
    turns = known(k, "k") % 4
    x = picture(image)
    if turns == 0:
        return x
    if turns == 2:
        return _arrays.reverse(x, axis=[-3, -2])
    return _arrays.reverse(transpose(x), axis=[-3]) if turns == 1 else transpose(_arrays.reverse(x, axis=[-3]))


@composed
def random_flip_left_right(image: Any, seed: Any = None) -> Any:
    """Mirrored, or not; each picture of a batch by itself."""
    x = picture(image)
    if isinstance(x._value, _program.Symbolic) and _is_plain(x):
        return Tensor(_program.record("random_flip", [x._value], probability=0.5)[0])
    return _sometimes(x, flip_left_right, seed)


@composed
def random_flip_up_down(image: Any, seed: Any = None) -> Any:
    return _sometimes(picture(image), flip_up_down, seed)


def _sometimes(x: Tensor, change: Any, seed: Any) -> Any:
    if x.shape.rank == 3:
        return _arrays.where(drawn(x, 0, 1, seed) < 0.5, change(x), x)
    if x.shape.rank == 4 and x.is_concrete:
        from .. import random

        flips = random.uniform([int(x.shape[0] or 0), 1, 1, 1], 0, 1, seed=seed) < 0.5
        return _arrays.where(flips, change(x), x)
    raise TypeError("programs flip one picture")


@composed
def stateless_random_flip_left_right(image: Any, seed: Any) -> Any:
    return flip_left_right(image) if stateless(seed).number(0, 1) < 0.5 else picture(image)


@composed
def stateless_random_flip_up_down(image: Any, seed: Any) -> Any:
    return flip_up_down(image) if stateless(seed).number(0, 1) < 0.5 else picture(image)


# -- parts and borders -----------------------------------------------------------------------------


@composed
def crop_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Any:
    x = picture(image)
    top, left = known(offset_height, "offset_height"), known(offset_width, "offset_width")
    height, width = known(target_height, "target_height"), known(target_width, "target_width")
    if isinstance(x._value, _program.Symbolic) and _is_plain(x):
        return Tensor(_program.record("crop", [x._value], y=top, x=left, height=height, width=width)[0])
    has = x.shape[-3:-1]
    if top < 0 or left < 0 or height < 1 or width < 1:
        raise ValueError("offsets must be >= 0, and target sizes > 0.")
    if None not in has and (top + height > has[0] or left + width > has[1]):
        raise ValueError(f"a part of {height} x {width} at ({top}, {left}) is not inside a picture of {has[0]} x {has[1]}.")
    return x[..., top:top + height, left:left + width, :]


@composed
def pad_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Any:
    x = picture(image)
    top, left = known(offset_height, "offset_height"), known(offset_width, "offset_width")
    height, width = _extents(x)
    below = known(target_height, "target_height") - top - height
    right = known(target_width, "target_width") - left - width
    if min(top, left, below, right) < 0:
        raise ValueError("offsets must be >= 0, and the picture must fit in the target.")
    around = [[top, below], [left, right], [0, 0]]
    return _arrays.pad(x, around if x.shape.rank == 3 else [[0, 0], *around])


@composed
def central_crop(image: Any, central_fraction: Any) -> Any:
    """The part in the middle, so much of each side."""
    share = float(central_fraction)
    if not 0 < share <= 1:
        raise ValueError("central_fraction must be within (0, 1]")
    x = picture(image)
    if share == 1:
        return x
    height, width = _extents(x)
    top, left = int((height - height * share) / 2), int((width - width * share) / 2)
    return crop_to_bounding_box(x, top, left, height - 2 * top, width - 2 * left)


@composed
def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """Cut or padded with zeros, evenly at both ends."""
    x = picture(image)
    tall, wide = known(target_height, "target_height"), known(target_width, "target_width")
    if tall < 1 or wide < 1:
        raise ValueError("target_height and target_width must be > 0.")
    height, width = _extents(x)
    cut = x
    if tall < height or wide < width:
        top, left = max((height - tall) // 2, 0), max((width - wide) // 2, 0)
        cut = crop_to_bounding_box(x, top, left, min(tall, height), min(wide, width))
    height, width = _extents(cut)
    if (height, width) == (tall, wide):
        return cut
    return pad_to_bounding_box(cut, (tall - height) // 2, (wide - width) // 2, tall, wide)


@composed
def random_crop(value: Any, size: Any, seed: Any = None, name: str | None = None) -> Any:
    """A part of that shape, anywhere in a tensor."""
    x = convert_to_tensor(value)
    extents = [known(each, "size") for each in (size.numpy() if isinstance(size, Tensor) else list(size))]
    shape = x.shape.as_list()
    if len(extents) != len(shape):
        raise InvalidArgumentError(None, None, f"size {extents} does not fit a tensor of shape {shape}")
    if find(x) is not None:
        if _is_plain(x) and shape[2] in (extents[2], None):
            return Tensor(_program.record("random_crop", [x._value], height=extents[0], width=extents[1])[0])
        raise TypeError("programs crop pictures")
    return _part(x, extents, [int(drawn(x, 0, has - part + 1, seed, whole=True)) for has, part in _room(shape, extents)])


@composed
def stateless_random_crop(value: Any, size: Any, seed: Any, name: str | None = None) -> Any:
    x = convert_to_tensor(value)
    extents = [known(each, "size") for each in (size.numpy() if isinstance(size, Tensor) else list(size))]
    draws = stateless(seed)
    return _part(x, extents, [draws.integer(has - part + 1) for has, part in _room(x.shape.as_list(), extents)])


def _room(shape: list[Any], extents: list[int]) -> list[tuple[int, int]]:
    pairs = [(has, has if part == -1 else part) for has, part in zip(shape, extents)]
    if any(part > has for has, part in pairs):
        raise InvalidArgumentError(None, None, f"Need value.shape >= size, got {shape} and {extents}")
    return pairs


def _part(x: Tensor, extents: list[int], begins: list[int]) -> Any:
    return x[tuple(slice(b, b + e) if e != -1 else slice(None) for b, e in zip(begins, extents))]


@composed
def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Any:
    """[batch, rows, columns, height * width * channels] of windows."""
    x = picture(images)
    (_, kh, kw, _), (_, sh, sw, _), (_, rh, rw, _) = (list(each) for each in (sizes, strides, rates))
    full_h, full_w = (kh - 1) * rh + 1, (kw - 1) * rw + 1
    h, w = int(x.shape[1]), int(x.shape[2])
    if padding.upper() == "SAME":
        rows, columns = -(-h // sh), -(-w // sw)
        dh, dw = max((rows - 1) * sh + full_h - h, 0), max((columns - 1) * sw + full_w - w, 0)
        x = _arrays.pad(x, [[0, 0], [dh // 2, dh - dh // 2], [dw // 2, dw - dw // 2], [0, 0]])
    else:
        rows, columns = (h - full_h) // sh + 1, (w - full_w) // sw + 1
    parts = [
        x[:, i * rh:i * rh + (rows - 1) * sh + 1:sh, j * rw:j * rw + (columns - 1) * sw + 1:sw, :]
        for i in range(kh) for j in range(kw)
    ]
    return _arrays.concat(parts, 3)
