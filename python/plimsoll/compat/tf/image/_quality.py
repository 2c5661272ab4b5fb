"""How alike two pictures are, and boxes on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _arrays, _math, _operators, _reduce
from .._convert import convert_to_tensor
from .._dtypes import float32
from .._program import composed
from .._tensor import Tensor
from ._convert import convert_image_dtype, picture


def _log10(x: Tensor) -> Any:
    return _math.log(x) * float(1 / np.log(10.0))


@composed
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Any:
    """Peak signal-to-noise ratio, in decibels."""
    x, y = picture(a), picture(b)
    most = convert_image_dtype(convert_to_tensor(max_val, x.dtype), float32)
    first, second = convert_image_dtype(x, float32), convert_image_dtype(y, float32)
    mean = _reduce.reduce_mean(_operators.square(first - second), axis=[-3, -2, -1])
    return 20.0 * _log10(most) - 10.0 * _log10(mean)


def _gaussian(size: int, sigma: float) -> Any:
    at = np.arange(size, dtype=np.float32) - (size - 1) / 2
    weights = at * at * (-0.5 / sigma**2)
    flat = (weights[None, :] + weights[:, None]).ravel()
    made = np.exp(flat - flat.max())
    return (made / made.sum()).reshape(size, size).astype(np.float32)


def _ssim_parts(x: Any, y: Any, most: float, size: int, sigma: float, k1: float, k2: float) -> tuple[Any, Any]:
    kernel = _gaussian(size, sigma)
    c1, c2 = (k1 * most) ** 2, (k2 * most) ** 2

    def filtered(z: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(z, (size, size), axis=(-3, -2))
        return np.einsum("...yxckl,kl->...yxc", windows, kernel)

    mean_x, mean_y = filtered(x), filtered(y)
    product, squares = mean_x * mean_y * 2, mean_x**2 + mean_y**2
    luminance = (product + c1) / (squares + c1)
    mixed = filtered(x * y) * 2
    both = filtered(x**2 + y**2)
    structure = (mixed - product + c2) / (both - squares + c2)
    axes = (-3, -2)
    return np.mean(luminance * structure, axis=axes), np.mean(structure, axis=axes)


def _floats(image: Any) -> Any:
    return np.asarray(convert_image_dtype(picture(image), float32).numpy(), np.float64)


def _most(max_val: Any, image: Any) -> float:
    x = picture(image)
    return float(np.asarray(convert_image_dtype(convert_to_tensor(max_val, x.dtype), float32).numpy()))


@composed
def ssim(
    img1: Any, img2: Any, max_val: Any, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
    return_index_map: bool = False,
) -> Any:
    """Structural similarity."""
    if return_index_map:
        raise NotImplementedError("return_index_map of tf.image.ssim is not supported by plimsoll.compat.tf; leave it out")
    value, _ = _ssim_parts(_floats(img1), _floats(img2), _most(max_val, img1), filter_size, filter_sigma, k1, k2)
    return convert_to_tensor(np.mean(value, axis=-1).astype(np.float32))


@composed
def ssim_multiscale(
    img1: Any, img2: Any, max_val: Any, power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333), filter_size: int = 11,
    filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
) -> Any:
    """The same at several sizes."""
    x, y, most = _floats(img1), _floats(img2), _most(max_val, img1)
    parts = []
    for i in range(len(power_factors)):
        if i:
            x, y = _halved(x), _halved(y)
        value, structure = _ssim_parts(x, y, most, filter_size, filter_sigma, k1, k2)
        parts.append(np.maximum(value if i == len(power_factors) - 1 else structure, 0))
    weights = np.asarray(power_factors)
    made = np.prod(np.stack(parts, axis=-1) ** weights, axis=-1)
    return convert_to_tensor(np.mean(made, axis=-1).astype(np.float32))


def _halved(x: Any) -> Any:
    pads = [(0, 0)] * (x.ndim - 3) + [(0, x.shape[-3] % 2), (0, x.shape[-2] % 2), (0, 0)]
    x = np.pad(x, pads, mode="symmetric")
    return (x[..., ::2, ::2, :] + x[..., 1::2, ::2, :] + x[..., ::2, 1::2, :] + x[..., 1::2, 1::2, :]) / 4


@composed
def total_variation(images: Any, name: str | None = None) -> Any:
    """The sum of differences of neighbouring pixels."""
    x = picture(images)
    down = _operators.abs(x[..., 1:, :, :] - x[..., :-1, :, :])
    across = _operators.abs(x[..., :, 1:, :] - x[..., :, :-1, :])
    axes = [-3, -2, -1]
    return _reduce.reduce_sum(down, axis=axes) + _reduce.reduce_sum(across, axis=axes)


@composed
def image_gradients(image: Any) -> Any:
    """(dy, dx): differences to the next pixel."""
    x = picture(image)
    if x.shape.rank != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {x.shape}.")
    dy, dx = x[:, 1:] - x[:, :-1], x[:, :, 1:] - x[:, :, :-1]
    return _arrays.pad(dy, [[0, 0], [0, 1], [0, 0], [0, 0]]), _arrays.pad(dx, [[0, 0], [0, 0], [0, 1], [0, 0]])


@composed
def sobel_edges(image: Any) -> Any:
    """Sobel filters: [..., 2], dy and dx."""
    x = np.asarray(picture(image).numpy())
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="reflect")
    h, w = x.shape[1], x.shape[2]

    def at(i: int, j: int) -> Any:
        return padded[:, i:i + h, j:j + w]

    dy = at(2, 0) + 2 * at(2, 1) + at(2, 2) - at(0, 0) - 2 * at(0, 1) - at(0, 2)
    dx = at(0, 2) + 2 * at(1, 2) + at(2, 2) - at(0, 0) - 2 * at(1, 0) - at(2, 0)
    return convert_to_tensor(np.stack([dy, dx], axis=-1).astype(x.dtype))


def non_max_suppression(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: float = 0.5, score_threshold: float = float("-inf"),
    name: str | None = None,
) -> Any:
    """Indices of boxes [y1, x1, y2, x2] that overlap no better one by more than iou_threshold."""
    corners = np.asarray(convert_to_tensor(boxes).numpy())
    ranks = np.asarray(convert_to_tensor(scores).numpy())
    low, high = np.minimum(corners[:, :2], corners[:, 2:]), np.maximum(corners[:, :2], corners[:, 2:])
    areas = np.prod(high - low, axis=1)
    kept: list[int] = []
    for i in np.argsort(-ranks, kind="stable"):
        if len(kept) >= int(max_output_size):
            break
        if not ranks[i] > score_threshold:
            continue
        overlap = np.prod(np.maximum(np.minimum(high[i], high[kept]) - np.maximum(low[i], low[kept]), 0), axis=1)
        union = areas[i] + areas[kept] - overlap
        if not np.any(np.where(union > 0, overlap / np.where(union > 0, union, 1), 0) > iou_threshold):
            kept.append(int(i))
    return convert_to_tensor(np.asarray(kept, np.int32))


@composed
def draw_bounding_boxes(images: Any, boxes: Any, colors: Any, name: str | None = None) -> Any:
    """Outlines of boxes, whose corners are from 0 to 1."""
    made = np.array(picture(images).numpy())
    found = np.asarray(convert_to_tensor(boxes).numpy())
    shades = None if colors is None else np.asarray(convert_to_tensor(colors).numpy())
    height, width, channels = made.shape[1:]
    for b, rows in enumerate(found):
        for i, (y1, x1, y2, x2) in enumerate(rows):
            shade = [1.0, 0.0, 0.0, 1.0][:channels] if shades is None else shades[i % len(shades)][:channels]
            top, bottom = (int(v * (height - 1)) for v in (y1, y2))
            left, right = (int(v * (width - 1)) for v in (x1, x2))
            if top > bottom or left > right:
                continue
            ys, xs = slice(max(top, 0), bottom + 1), slice(max(left, 0), right + 1)
            for y in (top, bottom):
                if 0 <= y < height:
                    made[b, y, xs] = shade
            for x in (left, right):
                if 0 <= x < width:
                    made[b, ys, x] = shade
    return convert_to_tensor(made)
