"""Layers that move elements: Flatten, Reshape, padding, cropping, upsampling; and merging layers."""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

import plimsoll as pm

from .._base import raw, wrap
from ._conv import data_format_of, numbers
from ._layer import Layer


class Flatten(Layer):
    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format_of(data_format)

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        if self.data_format == "channels_first" and x.ndim > 2:
            x = pm.transpose(x, [0, *range(2, x.ndim), 1])
        return wrap(x.reshape((x.shape[0], math.prod(x.shape[1:]))))


class Reshape(Layer):
    def __init__(self, target_shape: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = (target_shape,) if isinstance(target_shape, int) else tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        known = math.prod(n for n in self.target_shape if n != -1)
        size = math.prod(x.shape[1:])
        shape = [size // known if n == -1 else n for n in self.target_shape]
        if math.prod(shape) != size:
            raise ValueError(
                "The total size of the tensor must be unchanged. Received: input_shape="
                f"{tuple(x.shape[1:])}, target_shape={self.target_shape}")
        return wrap(x.reshape((x.shape[0], *shape)))


class Permute(Layer):
    def __init__(self, dims: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError("Invalid permutation argument `dims` for Permute Layer. The set of indices in "
                             f"`dims` must be consecutive and start from 1. Received dims={dims}")

    def call(self, inputs: Any) -> Any:
        return wrap(pm.transpose(raw(inputs), [0, *self.dims]))


class RepeatVector(Layer):
    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        return wrap(pm.broadcast_to(x.reshape((x.shape[0], 1, x.shape[1])), (x.shape[0], self.n, x.shape[1])))


def _pairs(value: Any, rank: int, name: str) -> list[tuple[int, int]]:
    """(before, after) for each dimension."""
    if isinstance(value, int):
        return [(value, value)] * rank
    if rank == 1 and len(value) == 2 and all(isinstance(n, int) for n in value):
        return [(int(value[0]), int(value[1]))]
    if len(value) != rank:
        raise ValueError(f"`{name}` should have {rank} elements. Received: {value}")
    return [(n, n) if isinstance(n, int) else (int(n[0]), int(n[1])) for n in value]


class _Borders(Layer):
    rank = 2
    default: Any = 1

    def __init__(self, borders: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format_of(data_format)
        self._borders = _pairs(borders, self.rank, "padding")

    def _around(self, x: pm.Tensor) -> tuple[list[int], list[int]]:
        begin = 1 if self.data_format == "channels_last" else 2
        before, after = [0] * x.ndim, [0] * x.ndim
        for i, (a, b) in enumerate(self._borders):
            before[begin + i], after[begin + i] = a, b
        return before, after


class ZeroPadding2D(_Borders):
    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        return wrap(pm.pad(x, *self._around(x)))


class ZeroPadding1D(ZeroPadding2D):
    rank = 1


class ZeroPadding3D(ZeroPadding2D):
    rank = 3


class Cropping2D(_Borders):
    def __init__(self, cropping: Any = 0, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        before, after = self._around(x)
        return wrap(x[tuple(slice(a, n - b) for a, b, n in zip(before, after, x.shape))])


class Cropping1D(Cropping2D):
    rank = 1


class Cropping3D(Cropping2D):
    rank = 3


def linear_matrix(size: int, to: int) -> Any:
    """[to, size]: each row the weights of two neighbours, pixel centres aligned."""
    at = np.clip((np.arange(to) + 0.5) * size / to - 0.5, 0, size - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, size - 1)
    share = (at - low).astype(np.float32)
    made = np.zeros((to, size), np.float32)
    made[np.arange(to), low] += 1 - share
    made[np.arange(to), high] += share
    return made


def nearest_rows(size: int, to: int) -> Any:
    return np.minimum((np.arange(to) + 0.5) * size / to, size - 1).astype(np.int64)


def resized(x: pm.Tensor, height: int, width: int, interpolation: str = "bilinear") -> pm.Tensor:
    """Pictures [n, h, w, c] of another size."""
    n, h, w, c = x.shape
    if interpolation == "nearest":
        if height != h:
            x = pm.gather(x, pm.tensor(nearest_rows(h, height)), axis=1)
        return x if width == w else pm.gather(x, pm.tensor(nearest_rows(w, width)), axis=2)
    if interpolation != "bilinear":
        raise NotImplementedError(f"interpolation={interpolation!r} is not supported; there are bilinear "
                                  "and nearest")
    if height != h:
        rows = pm.broadcast_to(pm.tensor(linear_matrix(h, height)).reshape((1, height, h)), (n, height, h))
        x = pm.matmul(pm.cast(rows, x.dtype), x.reshape((n, h, w * c))).reshape((n, height, w, c))
    if width != w:
        flat = n * height
        columns = pm.broadcast_to(
            pm.tensor(linear_matrix(w, width)).reshape((1, width, w)), (flat, width, w))
        x = pm.matmul(pm.cast(columns, x.dtype), x.reshape((flat, w, c))).reshape((n, height, width, c))
    return x


def repeated(x: pm.Tensor, axis: int, times: int) -> pm.Tensor:
    if times == 1:
        return x
    shape = list(x.shape)
    spread = x.reshape(shape[:axis + 1] + [1] + shape[axis + 1:])
    spread = pm.broadcast_to(spread, shape[:axis + 1] + [times] + shape[axis + 1:])
    return spread.reshape(shape[:axis] + [shape[axis] * times] + shape[axis + 1:])


class UpSampling2D(Layer):
    rank = 2

    def __init__(
        self, size: Any = 2, data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.size = numbers(size, self.rank, "size")
        self.data_format, self.interpolation = data_format_of(data_format), interpolation

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        first = self.data_format == "channels_first"
        if self.interpolation != "nearest":
            x = pm.transpose(x, [0, 2, 3, 1]) if first else x
            y = resized(x, x.shape[1] * self.size[0], x.shape[2] * self.size[1], self.interpolation)
            return wrap(pm.transpose(y, [0, 3, 1, 2]) if first else y)
        for i, times in enumerate(self.size):
            x = repeated(x, i + (2 if first else 1), times)
        return wrap(x)


class UpSampling1D(UpSampling2D):
    rank = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(size, **kwargs)


class UpSampling3D(UpSampling2D):
    rank = 3

    def __init__(self, size: Any = 2, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(size, data_format, **kwargs)


class _Merge(Layer):
    supports_masking = True

    def call(self, inputs: Any) -> Any:
        if not isinstance(inputs, (list, tuple)) or not inputs:
            raise ValueError(f"A merge layer should be called on a list of inputs. Received: {inputs}")
        found = [raw(each) for each in inputs]
        most = max(x.ndim for x in found)
        found = [x.reshape((x.shape[0], *([1] * (most - x.ndim)), *x.shape[1:])) for x in found]
        return wrap(self.merge(found))

    def merge(self, values: list[pm.Tensor]) -> pm.Tensor:
        raise NotImplementedError

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if not mask or any(each is None for each in mask):
            return None
        found = raw(mask[0])
        for each in mask[1:]:
            found = pm.logical_or(found, raw(each))
        return wrap(found)


class Add(_Merge):
    def merge(self, values: list[pm.Tensor]) -> pm.Tensor:
        total = values[0]
        for each in values[1:]:
            total = total + each
        return total


class Subtract(_Merge):
    def merge(self, values: list[pm.Tensor]) -> pm.Tensor:
        if len(values) != 2:
            raise ValueError(f"A `Subtract` layer should be called on exactly 2 inputs. Received: {len(values)}")
        return values[0] - values[1]


class Multiply(_Merge):
    def merge(self, values: list[pm.Tensor]) -> pm.Tensor:
        total = values[0]
        for each in values[1:]:
            total = total * each
        return total


class Average(Add):
    def merge(self, values: list[pm.Tensor]) -> pm.Tensor:
        return super().merge(values) * (1.0 / len(values))


class Maximum(_Merge):
    def merge(self, values: list[pm.Tensor]) -> pm.Tensor:
        total = values[0]
        for each in values[1:]:
            total = pm.maximum(total, each)
        return total


class Minimum(_Merge):
    def merge(self, values: list[pm.Tensor]) -> pm.Tensor:
        total = values[0]
        for each in values[1:]:
            total = pm.minimum(total, each)
        return total


class Concatenate(_Merge):
    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        if not isinstance(inputs, (list, tuple)):
            raise ValueError(f"A `Concatenate` layer should be called on a list of inputs. Received: {inputs}")
        return wrap(pm.concat([raw(each) for each in inputs], axis=self.axis))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if not mask or all(each is None for each in mask):
            return None
        rank, masks = raw(inputs[0]).ndim, []
        for x, each in zip(inputs, mask):
            ones = pm.ones(tuple(raw(x).shape[:-1]), dtype=pm.bool_)
            masks.append(ones if each is None else raw(each))
        if self.axis % rank == rank - 1:
            return super().compute_mask(inputs, [wrap(each) for each in masks])
        return wrap(pm.concat(masks, axis=self.axis % rank))


class Dot(_Merge):
    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def call(self, inputs: Any) -> Any:
        a, b = (raw(each) for each in inputs)
        axes = (self.axes, self.axes) if isinstance(self.axes, int) else tuple(self.axes)
        return wrap(_batch_dot(a, b, axes[0] % a.ndim, axes[1] % b.ndim, self.normalize))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


def _batch_dot(a: pm.Tensor, b: pm.Tensor, i: int, j: int, normalize: bool) -> pm.Tensor:
    if normalize:
        a = a * pm.rsqrt(pm.maximum(pm.sum(pm.square(a), axis=i, keepdims=True), 1e-12))
        b = b * pm.rsqrt(pm.maximum(pm.sum(pm.square(b), axis=j, keepdims=True), 1e-12))
    left = [d for d in range(1, a.ndim) if d != i]
    right = [d for d in range(1, b.ndim) if d != j]
    n, k = int(a.shape[0]), int(a.shape[i])
    flat_a = pm.transpose(a, [0, *left, i]).reshape((n, math.prod(a.shape[d] for d in left), k))
    flat_b = pm.transpose(b, [0, j, *right]).reshape((n, k, math.prod(b.shape[d] for d in right)))
    y = pm.matmul(flat_a, flat_b)
    shape = [n] + [a.shape[d] for d in left] + [b.shape[d] for d in right]
    return y.reshape(shape if len(shape) > 1 else (n, 1))


def add(inputs: Any, **kwargs: Any) -> Any:
    return Add(**kwargs)(inputs)


def subtract(inputs: Any, **kwargs: Any) -> Any:
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Any, **kwargs: Any) -> Any:
    return Multiply(**kwargs)(inputs)


def average(inputs: Any, **kwargs: Any) -> Any:
    return Average(**kwargs)(inputs)


def maximum(inputs: Any, **kwargs: Any) -> Any:
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Any, **kwargs: Any) -> Any:
    return Minimum(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Any, axes: Any = -1, **kwargs: Any) -> Any:
    return Dot(axes=axes, **kwargs)(inputs)
