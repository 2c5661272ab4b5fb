"""Pooling, over windows and over everything."""

from __future__ import annotations

import math
from typing import Any

import plimsoll as pm

from .._base import raw, wrap
from ._conv import data_format_of, numbers, paddings
from ._layer import Layer


class _Pool(Layer):
    rank = 2
    largest = True

    def __init__(
        self, pool_size: Any = 2, strides: Any = None, padding: str = "valid",
        data_format: str | None = None, **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size = numbers(pool_size, self.rank, "pool_size")
        self.strides = self.pool_size if strides is None else numbers(strides, self.rank, "strides")
        self.padding = padding.lower()
        if self.padding not in ("valid", "same"):
            raise ValueError(f"Invalid padding: {padding}; it is 'valid' or 'same'")
        self.data_format = data_format_of(data_format)

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        if x.ndim != self.rank + 2:
            raise ValueError(f"Input 0 of layer \"{self.name}\" is incompatible with the layer: expected "
                             f"ndim={self.rank + 2}, found ndim={x.ndim}. Full shape: {tuple(x.shape)}")
        first = self.data_format == "channels_first"
        if first:
            x = pm.transpose(x, [0, *range(2, x.ndim), 1])
        y = self._pooled(x)
        if first:
            y = pm.transpose(y, [0, y.ndim - 1, *range(1, y.ndim - 1)])
        return wrap(y)

    def _pooled(self, x: pm.Tensor) -> pm.Tensor:
        sizes = list(x.shape[1:-1])
        pads = paddings(self.padding, sizes, self.pool_size, self.strides)
        if self.rank == 1:
            flat = x.reshape((x.shape[0], 1, x.shape[1], x.shape[2]))
            y = self._plane(flat, (1, *self.pool_size), (1, *self.strides), [(0, 0), *pads])
            return y.reshape((y.shape[0], y.shape[2], y.shape[3]))
        if self.rank == 2:
            return self._plane(x, self.pool_size, self.strides, pads)
        n, d, h, w, c = x.shape
        y = self._plane(x.reshape((n * d, h, w, c)), self.pool_size[1:], self.strides[1:], pads[1:])
        height, width = y.shape[1], y.shape[2]
        y = self._plane(y.reshape((n, d, height * width, c)), (self.pool_size[0], 1),
                        (self.strides[0], 1), [pads[0], (0, 0)])
        return y.reshape((n, y.shape[1], height, width, c))

    def _plane(self, x: pm.Tensor, size: Any, stride: Any, pads: Any) -> pm.Tensor:
        f = pm.max_pool2d if self.largest else pm.avg_pool2d
        return f(x, size, stride=stride, padding=(*pads[0], *pads[1]), layout="channels_last")


class MaxPooling2D(_Pool):
    pass


class MaxPooling1D(_Pool):
    rank = 1


class MaxPooling3D(_Pool):
    rank = 3


class AveragePooling2D(_Pool):
    largest = False


class AveragePooling1D(_Pool):
    rank, largest = 1, False


class AveragePooling3D(_Pool):
    rank, largest = 3, False


class _GlobalPool(Layer):
    rank = 2

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format, self.keepdims = data_format_of(data_format), keepdims

    def _axes(self) -> list[int]:
        begin = 1 if self.data_format == "channels_last" else 2
        return list(range(begin, begin + self.rank))

    def _spread(self, y: pm.Tensor, like: pm.Tensor) -> Any:
        if not self.keepdims:
            return wrap(y)
        return wrap(y.reshape([1 if i in self._axes() else n for i, n in enumerate(like.shape)]))

    def _flat(self, x: pm.Tensor) -> tuple[pm.Tensor, int]:
        """One dimension for all that is pooled."""
        if self.data_format == "channels_last":
            return x.reshape((x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1])), 1
        return x.reshape((x.shape[0], x.shape[1], math.prod(x.shape[2:]))), 2


class _GlobalAverage(_GlobalPool):
    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        flat, axis = self._flat(x)
        return self._spread(pm.mean(flat, axis=axis), x)


class GlobalAveragePooling2D(_GlobalAverage):
    pass


class GlobalAveragePooling1D(_GlobalAverage):
    rank = 1
    supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return super().call(inputs)
        x = raw(inputs)
        on = pm.cast(raw(mask), x.dtype)
        axis = self._axes()[0]
        on = on.reshape((*on.shape, 1) if axis == 1 else (on.shape[0], 1, on.shape[1]))
        return self._spread(pm.sum(x * on, axis=axis) / pm.sum(on, axis=axis), x)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


class GlobalAveragePooling3D(_GlobalAverage):
    rank = 3


class _GlobalMax(_GlobalPool):
    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        flat, axis = self._flat(x)
        return self._spread(pm.max(flat, axis=axis), x)


class GlobalMaxPooling1D(_GlobalMax):
    rank = 1


class GlobalMaxPooling2D(_GlobalMax):
    pass


class GlobalMaxPooling3D(_GlobalMax):
    rank = 3


MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
GlobalMaxPool1D, GlobalMaxPool2D = GlobalMaxPooling1D, GlobalMaxPooling2D
GlobalAvgPool3D, GlobalMaxPool3D = GlobalAveragePooling3D, GlobalMaxPooling3D


class _AdaptivePool(Layer):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"keras.layers.{type(self).__name__} is not supported; use pooling with a "
                                  "window, or global pooling")


class AdaptiveAveragePooling2D(_AdaptivePool):
    pass


class AdaptiveMaxPooling2D(_AdaptivePool):
    pass
