"""Preprocessing of pictures: sizes, scales, and random changes, which happen in training only."""

from __future__ import annotations

import math
from typing import Any, Sequence

import plimsoll as pm
from plimsoll import _core

from .._base import raw, wrap
from ._conv import data_format_of
from ._layer import Layer
from ._shape_layers import resized


def _pictures(inputs: Any) -> tuple[pm.Tensor, bool]:
    """[n, h, w, c] in floating numbers, and whether it was one picture."""
    x = raw(inputs)
    if x.dtype not in (pm.f32, pm.f16, pm.bf16, pm.f64):
        x = pm.cast(x, pm.f32)
    return (x.reshape((1, *x.shape)), True) if x.ndim == 3 else (x, False)


def _back(x: pm.Tensor, single: bool) -> Any:
    return wrap(x.reshape(x.shape[1:]) if single else x)


class Rescaling(Layer):
    """x * scale + offset."""

    supports_masking = True

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        floats = (pm.f32, pm.f16, pm.bf16, pm.f64)
        if x.dtype not in floats:
            x = pm.cast(x, pm.f32)
        scale, offset = self._factor(self.scale), self._factor(self.offset)
        y = x * scale
        return wrap(y if isinstance(offset, float) and offset == 0.0 else y + offset)

    def _factor(self, value: Any) -> Any:
        return pm.tensor([float(n) for n in value]) if isinstance(value, (list, tuple)) else float(value)


class Resizing(Layer):
    def __init__(
        self, height: int, width: int, interpolation: str = "bilinear", crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False, fill_mode: str = "constant", fill_value: float = 0.0,
        antialias: bool = False, data_format: str | None = None, **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if pad_to_aspect_ratio or antialias or data_format_of(data_format) != "channels_last":
            raise NotImplementedError("Resizing(pad_to_aspect_ratio=, antialias=, channels_first) are not "
                                      "supported; use tf.image.resize")
        self.height, self.width, self.interpolation = height, width, interpolation
        self.crop_to_aspect_ratio = crop_to_aspect_ratio

    def call(self, inputs: Any) -> Any:
        if isinstance(raw(inputs), _core.Symbolic):
            from ...image import resize

            return resize(inputs, (self.height, self.width), method=self.interpolation)
        x, single = _pictures(inputs)
        if self.crop_to_aspect_ratio:
            h, w = int(x.shape[1]), int(x.shape[2])
            tall = min(h, int(float(w * self.height) / self.width))
            wide = min(w, int(float(h * self.width) / self.height))
            top, left = (h - tall) // 2, (w - wide) // 2
            x = x[:, top:top + tall, left:left + wide]
        return _back(resized(x, self.height, self.width, self.interpolation), single)


class CenterCrop(Layer):
    def __init__(self, height: int, width: int, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.height, self.width = height, width

    def call(self, inputs: Any) -> Any:
        x, single = _pictures(inputs)
        down, across = int(x.shape[1]) - self.height, int(x.shape[2]) - self.width
        if down >= 0 and across >= 0:
            top, left = int(down / 2), int(across / 2)
            return _back(x[:, top:top + self.height, left:left + self.width], single)
        return _back(self._resized(x), single)

    def _resized(self, x: pm.Tensor) -> pm.Tensor:
        h, w = int(x.shape[1]), int(x.shape[2])
        tall = min(h, int(float(w * self.height) / self.width))
        wide = min(w, int(float(h * self.width) / self.height))
        top, left = (h - tall) // 2, (w - wide) // 2
        return resized(x[:, top:top + tall, left:left + wide], self.height, self.width)


class _Random(Layer):
    """A change that is drawn anew for each picture, in training."""

    def __init__(self, seed: int | None = None, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed = seed

    def __call__(self, inputs: Any, training: Any = True, **kwargs: Any) -> Any:
        from .._base import calls

        if training is True and calls.depth and calls.training is not None:
            training = calls.training
        return super().__call__(inputs, training=training, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        from .._base import calls

        if calls.training is not None and kwargs.get("training") is True:
            kwargs["training"] = calls.training
        return super()._run(*args, **kwargs)

    def call(self, inputs: Any, training: Any = True) -> Any:
        if not training:
            return inputs
        x, single = _pictures(inputs)
        return _back(self.change(x), single)

    def change(self, x: pm.Tensor) -> pm.Tensor:
        raise NotImplementedError


def _draw(x: pm.Tensor, low: float, high: float) -> pm.Tensor:
    """One number for each picture: [n, 1, 1, 1]."""
    found = pm.random_uniform((x.shape[0], 1, 1, 1), low, high)
    return found if x.dtype == pm.f32 else pm.cast(found, x.dtype)


def _range(factor: Any) -> tuple[float, float]:
    return (float(factor[0]), float(factor[1])) if isinstance(factor, (list, tuple)) else (
        -float(factor), float(factor))


class RandomFlip(_Random):
    def __init__(self, mode: str = "horizontal_and_vertical", seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(seed, **kwargs)
        if mode not in ("horizontal", "vertical", "horizontal_and_vertical"):
            raise ValueError(f"RandomFlip layer {self.name} received an unknown mode: {mode}")
        self.mode = mode

    def change(self, x: pm.Tensor) -> pm.Tensor:
        for word, axis in (("horizontal", 2), ("vertical", 1)):
            if word in self.mode:
                turned = _draw(x, 0.0, 1.0) > 0.5
                x = pm.where(pm.broadcast_to(turned, x.shape), pm.flip(x, axis), x)
        return x


class RandomBrightness(_Random):
    def __init__(
        self, factor: Any, value_range: Sequence[float] = (0, 255), seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(seed, **kwargs)
        self.factor, self.value_range = _range(factor), tuple(value_range)

    def change(self, x: pm.Tensor) -> pm.Tensor:
        low, high = self.value_range
        return pm.clip(x + _draw(x, *self.factor) * float(high - low), float(low), float(high))


class RandomContrast(_Random):
    def __init__(
        self, factor: Any, value_range: Sequence[float] = (0, 255), seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(seed, **kwargs)
        low, high = _range(factor)
        self.factor, self.value_range = (low, high), tuple(value_range)
        self._low, self._high = (1.0 + low if low < 0 else 1.0 - low), 1.0 + high

    def change(self, x: pm.Tensor) -> pm.Tensor:
        mean = pm.mean(x, axis=[1, 2], keepdims=True)
        y = (x - mean) * _draw(x, self._low, self._high) + mean
        return pm.clip(y, float(self.value_range[0]), float(self.value_range[1]))


class RandomCrop(_Random):
    def __init__(self, height: int, width: int, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(seed, **kwargs)
        self.height, self.width = height, width

    def call(self, inputs: Any, training: Any = True) -> Any:
        x, single = _pictures(inputs)
        down, across = int(x.shape[1]) - self.height, int(x.shape[2]) - self.width
        if not training or down < 0 or across < 0:
            return CenterCrop(self.height, self.width)(inputs)
        return _back(self._cropped(x, down, across), single)

    def _cropped(self, x: pm.Tensor, down: int, across: int) -> pm.Tensor:
        """Rows and columns are picked by products with matrices that are drawn."""
        x = _picked(x, _starts(x, down), self.height, 1)
        return _picked(x, _starts(x, across), self.width, 2)


def _starts(x: pm.Tensor, most: int) -> pm.Tensor:
    return pm.floor(pm.random_uniform((x.shape[0], 1, 1), 0.0, most + 1.0))


def _picked(x: pm.Tensor, starts: pm.Tensor, size: int, axis: int) -> pm.Tensor:
    n, h, w, c = x.shape
    extent = int(x.shape[axis])
    rows = pm.cast(pm.arange(size), pm.f32).reshape((1, size, 1)) + starts
    columns = pm.cast(pm.arange(extent), pm.f32).reshape((1, 1, extent))
    hot = pm.cast(pm.broadcast_to(rows, (n, size, extent)) == pm.broadcast_to(columns, (n, size, extent)), x.dtype)
    if axis == 1:
        return pm.matmul(hot, x.reshape((n, h, w * c))).reshape((n, size, w, c))
    moved = pm.transpose(x, [0, 2, 1, 3]).reshape((n, w, h * c))
    return pm.transpose(pm.matmul(hot, moved).reshape((n, size, h, c)), [0, 2, 1, 3])


class _Affine(_Random):
    """A change of coordinates, by bilinear sampling along each of the two axes in turn."""

    def __init__(
        self, fill_mode: str = "reflect", interpolation: str = "bilinear", seed: int | None = None,
        fill_value: float = 0.0, **kwargs: Any,
    ) -> None:
        super().__init__(seed, **kwargs)
        if fill_mode not in ("reflect", "wrap", "constant", "nearest"):
            raise NotImplementedError(f"Unknown `fill_mode` {fill_mode}")
        self.fill_mode, self.interpolation, self.fill_value = fill_mode, interpolation, fill_value

    def _sampled(self, x: pm.Tensor, at: pm.Tensor, axis: int) -> pm.Tensor:
        """x at positions `at` [n, size] along an axis: a product with weights of two neighbours."""
        extent = int(x.shape[axis])
        if self.fill_mode == "nearest":
            at = pm.clip(at, 0.0, extent - 1.0)
        elif self.fill_mode == "reflect":
            period = 2.0 * extent
            shifted = at + 0.5
            turned = shifted - pm.floor(shifted / period) * period
            at = pm.clip(pm.minimum(turned, period - turned) - 0.5, 0.0, extent - 1.0)
        elif self.fill_mode == "wrap":
            at = at - pm.floor(at / float(extent)) * float(extent)
            at = pm.clip(at, 0.0, extent - 1.0)
        n, size = at.shape
        places = pm.cast(pm.arange(extent), pm.f32).reshape((1, 1, extent))
        distance = pm.abs(pm.broadcast_to(at.reshape((n, size, 1)), (n, size, extent)) - places)
        weights = pm.cast(pm.relu(1.0 - distance), x.dtype)
        _, h, w, c = x.shape
        if axis == 1:
            return pm.matmul(weights, x.reshape((n, h, w * c))).reshape((n, size, w, c))
        moved = pm.transpose(x, [0, 2, 1, 3]).reshape((n, w, h * c))
        return pm.transpose(pm.matmul(weights, moved).reshape((n, size, h, c)), [0, 2, 1, 3])


class RandomTranslation(_Affine):
    def __init__(self, height_factor: Any, width_factor: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.height_factor, self.width_factor = _range(height_factor), _range(width_factor)

    def change(self, x: pm.Tensor) -> pm.Tensor:
        for axis, bounds in ((1, self.height_factor), (2, self.width_factor)):
            n, size = int(x.shape[0]), int(x.shape[axis])
            moved = pm.random_uniform((n, 1), *bounds) * float(size)
            x = self._sampled(x, pm.cast(pm.arange(size), pm.f32).reshape((1, size)) - moved, axis)
        return x


class RandomZoom(_Affine):
    def __init__(self, height_factor: Any, width_factor: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.height_factor = _range(height_factor)
        self.width_factor = None if width_factor is None else _range(width_factor)

    def change(self, x: pm.Tensor) -> pm.Tensor:
        n = int(x.shape[0])
        down = pm.random_uniform((n, 1), *self.height_factor) + 1.0
        across = down if self.width_factor is None else pm.random_uniform((n, 1), *self.width_factor) + 1.0
        for axis, zoom in ((1, down), (2, across)):
            size = int(x.shape[axis])
            middle = (size - 1) / 2
            at = (pm.cast(pm.arange(size), pm.f32).reshape((1, size)) - middle) * zoom + middle
            x = self._sampled(x, at, axis)
        return x


class RandomRotation(_Affine):
    """By three shears: along the rows, the columns, and the rows again."""

    def __init__(self, factor: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.factor = _range(factor)

    def change(self, x: pm.Tensor) -> pm.Tensor:
        n, h, w, _ = x.shape
        angle = pm.random_uniform((n, 1), *self.factor) * (2 * math.pi)
        half = pm.sin(angle * 0.5) / pm.cos(angle * 0.5)
        x = self._sheared(x, -half, 2)
        x = self._sheared(x, pm.sin(angle), 1)
        return self._sheared(x, -half, 2)

    def _sheared(self, x: pm.Tensor, slope: pm.Tensor, axis: int) -> pm.Tensor:
        """Each line along `axis` moved by its distance from the middle times the slope."""
        n, h, w, c = x.shape
        other = 1 if axis == 2 else 2
        lines, size = int(x.shape[other]), int(x.shape[axis])
        away = pm.cast(pm.arange(lines), pm.f32).reshape((1, lines)) - (lines - 1) / 2
        moved = pm.broadcast_to(slope, (n, lines)) * away
        rows = x if axis == 2 else pm.transpose(x, [0, 2, 1, 3])
        flat = rows.reshape((n * lines, 1, size, c))
        at = pm.cast(pm.arange(size), pm.f32).reshape((1, size)) - moved.reshape((n * lines, 1))
        done = self._sampled(flat, at, 2).reshape((n, lines, size, c))
        return done if axis == 2 else pm.transpose(done, [0, 2, 1, 3])


class RandomHeight(_Random):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"keras.layers.{type(self).__name__} gives pictures of random sizes, which is "
                                  "not supported; use RandomZoom")


class RandomWidth(RandomHeight):
    pass
