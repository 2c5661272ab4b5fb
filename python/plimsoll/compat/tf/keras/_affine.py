"""Transformations of pictures in NumPy arrays [h, w, c], as ImageDataGenerator has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def _matrix(theta: float, tx: float, ty: float, shear: float, zx: float, zy: float, h: int, w: int) -> Any:
    """From places of the result to places of the picture, around its centre; None if nothing moves."""
    made: Any = np.eye(3)
    if theta:
        a = math.radians(theta)
        made = made @ np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])
    if tx or ty:
        made = made @ np.array([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    if shear:
        a = math.radians(shear)
        made = made @ np.array([[1, -math.sin(a), 0], [0, math.cos(a), 0], [0, 0, 1]])
    if zx != 1 or zy != 1:
        made = made @ np.diag([zx, zy, 1])
    if np.array_equal(made, np.eye(3)):
        return None
    y, x = h / 2 - 0.5, w / 2 - 0.5
    there, back = np.eye(3), np.eye(3)
    there[:2, 2], back[:2, 2] = (y, x), (-y, -x)
    made = there @ made @ back
    swap = [1, 0, 2]  # the first coordinate is the column
    return made[swap][:, swap]


def _within(places: Any, size: int, fill_mode: str) -> Any:
    """Places outside of a row as those whose values they have."""
    last = size - 1
    if fill_mode == "nearest" or size == 1:
        return np.clip(places, 0, last)
    if fill_mode == "reflect":  # d c b a | a b c d | d c b a
        around = np.mod(places + 0.5, 2 * size)
        return np.clip(np.where(around < size, around, 2 * size - around) - 0.5, 0, last)
    if fill_mode == "wrap":  # the ends coincide
        return np.where((places < 0) | (places > last), np.mod(places, last), places)
    return places


def affine(
    x: Any, theta: float = 0, tx: float = 0, ty: float = 0, shear: float = 0, zx: float = 1, zy: float = 1,
    fill_mode: str = "nearest", cval: float = 0.0, order: int = 1,
) -> Any:
    """A picture that is turned, moved, sheared and zoomed; degrees and pixels."""
    if fill_mode not in ("nearest", "constant", "reflect", "wrap"):
        raise ValueError(f"fill_mode must be 'nearest', 'constant', 'reflect' or 'wrap', not {fill_mode!r}")
    if order not in (0, 1):
        raise NotImplementedError(f"interpolation_order={order} is not supported: 0 takes the nearest pixel, 1 is linear")
    h, w = x.shape[:2]
    matrix = _matrix(theta, tx, ty, shear, zx, zy, h, w)
    if matrix is None:
        return x
    rows, columns = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    places = np.einsum("ij,jhw->ihw", matrix[:2, :2], np.stack([rows, columns])) + matrix[:2, 2, None, None]
    outside = ((places[0] < 0) | (places[0] > h - 1) | (places[1] < 0) | (places[1] > w - 1))
    y, u = _within(places[0], h, fill_mode), _within(places[1], w, fill_mode)
    if order == 0:
        made = x[np.clip(np.floor(y + 0.5), 0, h - 1).astype(int), np.clip(np.floor(u + 0.5), 0, w - 1).astype(int)]
    else:
        y, u = np.clip(y, 0, h - 1), np.clip(u, 0, w - 1)
        y0, u0 = np.floor(y).astype(int), np.floor(u).astype(int)
        y1, u1 = np.minimum(y0 + 1, h - 1), np.minimum(u0 + 1, w - 1)
        dy, du = (y - y0)[..., None], (u - u0)[..., None]
        top = x[y0, u0] * (1 - du) + x[y0, u1] * du
        made = top * (1 - dy) + (x[y1, u0] * (1 - du) + x[y1, u1] * du) * dy
    if fill_mode == "constant":
        made = np.where(outside[..., None], cval, made)
    return made.astype(x.dtype)


def channel_shift(x: Any, intensity: float) -> Any:
    """All channels moved by a number, within the picture's own range."""
    return np.clip(x + intensity, x.min(), x.max())


def brightness(x: Any, factor: float) -> Any:
    """Bytes times a factor; a picture beyond 0 to 255 is scaled to bytes for that, and back."""
    low, high = x.min(), x.max()
    scaled = low < 0 or high > 255
    if scaled:
        x = (x - low) / ((high - low) or 1) * 255
    found = np.clip(x.astype(np.uint8).astype(np.float32) * np.float32(factor), 0, 255).astype(np.uint8)
    found = found.astype(np.float32)
    return found / 255 * (high - low) + low if scaled else found
