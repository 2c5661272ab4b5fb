"""Pictures at another size."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm

from .. import _arrays, _math, _program
from .._convert import convert_to_tensor
from .._dtypes import float32
from .._errors import InvalidArgumentError
from .._program import composed, find
from .._tensor import Tensor
from ._convert import picture
from ._geometry import pad_to_bounding_box, resize_with_crop_or_pad


class ResizeMethod:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"
    LANCZOS3, LANCZOS5, GAUSSIAN, MITCHELLCUBIC = "lanczos3", "lanczos5", "gaussian", "mitchellcubic"


_V1 = {0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area"}
_NATIVE = ("bilinear", "nearest", "bicubic", "area")


def _size(size: Any) -> tuple[int, int]:
    found = size
    if isinstance(size, Tensor):
        if not size.is_concrete:
            raise TypeError("the size of a picture must be known when the function is traced")
        found = size.numpy().tolist()
    values = [int(each) for each in (found if isinstance(found, (list, tuple, np.ndarray)) else list(found))]
    if len(values) != 2:
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if min(values) < 1:
        raise ValueError(f"output dimensions must be positive, not {values}")
    return values[0], values[1]


@composed
def resize(
    images: Any, size: Any, method: Any = ResizeMethod.BILINEAR, preserve_aspect_ratio: bool = False,
    antialias: bool = False, name: str | None = None,
) -> Any:
    """float32 of another size, on the same scale; `nearest` keeps the dtype."""
    x = picture(images)
    how = str(_V1.get(method, method) if not isinstance(method, str) else method)
    known = (*_NATIVE, "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
    if how not in known:
        raise ValueError(f"tf.image.resize has no method {method!r}; there are {', '.join(known)}")
    if x.shape.rank not in (3, 4):
        raise ValueError(f"'images' must have either 3 or 4 dimensions, not {x.shape}")
    height, width = _size(size)
    has = x.shape[-3:-1]
    if preserve_aspect_ratio:
        if None in has:
            raise TypeError("preserve_aspect_ratio needs a picture whose size is known")
        scale = min(np.float32(height) / np.float32(has[0]), np.float32(width) / np.float32(has[1]))
        height, width = (int(np.round(scale * np.float32(each))) for each in has)
        if min(height, width) < 1:
            raise InvalidArgumentError(None, None, "output dimensions must be positive")
    if tuple(has) == (height, width):
        return x if how == "nearest" else _math.cast(x, float32)
    if how in _NATIVE and not (antialias and how in ("nearest", "area")):
        return _by_library(x, height, width, how, antialias)
    if how in ("nearest", "area"):
        return _by_library(x, height, width, how, False)
    return _scaled(x, height, width, how, antialias)


def _by_library(x: Tensor, height: int, width: int, how: str, antialias: bool) -> Any:
    if x.shape.rank == 4:
        if find(x) is not None:
            raise TypeError("programs resize one picture")
        made = [_by_library(x[i], height, width, how, antialias) for i in range(int(x.shape[0] or 0))]
        return _arrays.stack(made)
    raw = x._value
    if raw.dtype not in (pm.u8, pm.f32):
        if how == "nearest":
            return _nearest(x, height, width)
        raw = raw.to(pm.f32)
    if raw.dtype == pm.u8 and how == "bilinear" and not antialias:
        # Of whole numbers the library interpolates with weights of 14 bits: up to 0.008 of 255 off.
        raw = raw.to(pm.f32)
    if not isinstance(raw, _program.Symbolic) and not x.is_concrete:
        raise TypeError("pictures of a graph are not resized by the library")
    made_raw = _program.run("resize", [raw], height=height, width=width, filter=how, antialias=antialias)
    return Tensor(made_raw.to(raw.dtype) if how == "nearest" and made_raw.dtype != raw.dtype else made_raw)


def _nearest(x: Tensor, height: int, width: int) -> Any:
    """Rows and columns picked: for dtypes that the library does not resize."""
    if None in x.shape[:2]:
        raise TypeError("the size of the picture is not known")
    rows, columns = (_picked(int(x.shape[i] or 0), out) for i, out in ((0, height), (1, width)))
    return _arrays_gather(_arrays_gather(x, rows, 0), columns, 1)


def _arrays_gather(x: Tensor, places: Any, axis: int) -> Any:
    from .._gather import gather

    return gather(x, convert_to_tensor(places), axis=axis)


def _picked(size: int, out: int) -> Any:
    return np.minimum(np.floor((np.arange(out) + 0.5) * (size / out)).astype(np.int64), size - 1)


# -- kernels of scale_and_translate: exact weights, as matrices ------------------------------------


def _sinc(x: Any, radius: int) -> Any:
    return np.where(np.abs(x) < radius, np.sinc(x) * np.sinc(x / radius), 0)


def _mitchell(x: Any) -> Any:
    x = np.abs(x)
    near = ((7 * x - 12) * x) * x + 16 / 3
    far = ((-7 / 3 * x + 12) * x - 20) * x + 32 / 3
    return np.where(x < 1, near / 6, np.where(x < 2, far / 6, 0))


def _keys(x: Any) -> Any:
    x = np.abs(x)
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


_KERNELS: dict[str, tuple[float, Any]] = {
    "lanczos3": (3, lambda x: _sinc(x, 3)), "lanczos5": (5, lambda x: _sinc(x, 5)),
    "gaussian": (1.5, lambda x: np.where(np.abs(x) < 1.5, np.exp(-x * x / 0.5), 0)), "mitchellcubic": (2, _mitchell),
    "bicubic": (2, _keys),
}


def weights(size: int, out: int, how: str, antialias: bool) -> Any:
    """The matrix [out, size] of a resize along one axis."""
    radius, kernel = _KERNELS[how]
    # In f32, as TensorFlow does it: kernels that end with a step depend on it.
    f = np.float32
    inverse = f(1) / (f(out) / f(size))
    scale = max(inverse, f(1)) if antialias else f(1)
    centers = (np.arange(out, dtype=f) + f(0.5)) * inverse
    distance = (np.arange(size, dtype=f)[None, :] + f(0.5) - centers[:, None]) * (f(1) / scale)
    made = np.where(np.abs(distance) <= radius, kernel(distance), 0)
    total = made.sum(axis=1, keepdims=True)
    return np.where(total == 0, 0, made / np.where(total == 0, 1, total)).astype(np.float32)


def _scaled(x: Tensor, height: int, width: int, how: str, antialias: bool) -> Any:
    if not x.is_concrete:
        raise TypeError(f"{how} has no instruction")
    array = np.asarray(x.numpy()).astype(np.float32)
    rows, columns = weights(array.shape[-3], height, how, antialias), weights(array.shape[-2], width, how, antialias)
    made = np.einsum("ah,...hwc->...awc", rows, array)
    return convert_to_tensor(np.einsum("bw,...awc->...abc", columns, made).astype(np.float32), float32)


@composed
def resize_with_pad(
    image: Any, target_height: Any, target_width: Any, method: Any = ResizeMethod.BILINEAR, antialias: bool = False
) -> Any:
    """The picture as large as fits, with zeros around it."""
    x = picture(image)
    height, width = int(target_height), int(target_width)
    if None in x.shape[-3:-1]:
        raise TypeError("the size of the picture is not known")
    h, w = int(x.shape[-3]), int(x.shape[-2])
    f = np.float32
    ratio = max(f(w) / f(width), f(h) / f(height))
    fit_h, fit_w = f(h) / ratio, f(w) / ratio
    new_h, new_w = int(np.floor(fit_h)), int(np.floor(fit_w))
    made = resize(x, [new_h, new_w], method, antialias=antialias)
    top = max(int(np.floor((f(height) - fit_h) / f(2))), 0)
    left = max(int(np.floor((f(width) - fit_w) / f(2))), 0)
    return pad_to_bounding_box(made, top, left, height, width)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    return resize_with_crop_or_pad(image, target_height, target_width)


@composed
def crop_and_resize(
    image: Any, boxes: Any, box_indices: Any, crop_size: Any, method: str = "bilinear", extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Any:
    """Parts of pictures, given by corners from 0 to 1, each resized."""
    pictures = np.asarray(picture(image).numpy()).astype(np.float32)
    corners = np.asarray(convert_to_tensor(boxes).numpy())
    which = np.asarray(convert_to_tensor(box_indices).numpy())
    height, width = _size(crop_size)
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"method must be 'bilinear' or 'nearest', not {method!r}")
    made = np.full((len(corners), height, width, pictures.shape[3]), extrapolation_value, np.float32)
    for b, (y1, x1, y2, x2) in enumerate(corners):
        source = pictures[int(which[b])]
        ys = _grid(y1, y2, height, source.shape[0])
        xs = _grid(x1, x2, width, source.shape[1])
        inside_y, inside_x = (ys >= 0) & (ys <= source.shape[0] - 1), (xs >= 0) & (xs <= source.shape[1] - 1)
        cy, cx = np.clip(ys, 0, source.shape[0] - 1), np.clip(xs, 0, source.shape[1] - 1)
        if method == "nearest":
            found = source[np.floor(cy + 0.5).astype(int)][:, np.floor(cx + 0.5).astype(int)]
        else:
            top, left = np.floor(cy).astype(int), np.floor(cx).astype(int)
            bottom, right = np.ceil(cy).astype(int), np.ceil(cx).astype(int)
            fy, fx = (cy - top)[:, None, None], (cx - left)[None, :, None]
            upper = source[top][:, left] * (1 - fx) + source[top][:, right] * fx
            lower = source[bottom][:, left] * (1 - fx) + source[bottom][:, right] * fx
            found = upper * (1 - fy) + lower * fy
        mask = inside_y[:, None] & inside_x[None, :]
        made[b][mask] = found[mask]
    return convert_to_tensor(made, float32)


def _grid(low: float, high: float, out: int, size: int) -> Any:
    """Where rows or columns of a part are read; in float32, so that the last one of a whole picture is inside."""
    first, end, last = np.float32(low), np.float32(high), np.float32(size - 1)
    if out == 1:
        return np.array([np.float32(0.5) * (first + end) * last])
    step = (end - first) * last / np.float32(out - 1)
    return first * last + np.arange(out, dtype=np.float32) * step
