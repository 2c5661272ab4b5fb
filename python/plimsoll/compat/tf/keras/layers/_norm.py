"""Normalisations with Keras's defaults: epsilon 1e-3, momentum 0.99."""

from __future__ import annotations

import math
from typing import Any

import plimsoll as pm

from .. import constraints, initializers, regularizers
from .._base import raw, read, wrap, write
from ._core_layers import weight
from ._layer import Layer


class BatchNormalization(Layer):
    supports_masking = True

    def __init__(
        self, axis: int = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True,
        scale: bool = True, beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros", moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None,
        gamma_constraint: Any = None, renorm: bool = False, virtual_batch_size: Any = None,
        synchronized: bool = False, **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if renorm or virtual_batch_size is not None:
            raise NotImplementedError("BatchNormalization(renorm=, virtual_batch_size=) are not supported")
        if isinstance(axis, (list, tuple)):
            axis = axis[0]
        self.axis, self.momentum, self.epsilon = int(axis), float(momentum), float(epsilon)
        self.center, self.scale = center, scale
        self._first = (
            initializers.get(gamma_initializer), initializers.get(beta_initializer),
            initializers.get(moving_mean_initializer), initializers.get(moving_variance_initializer))
        self._penalty = (regularizers.get(gamma_regularizer), regularizers.get(beta_regularizer))
        self._bound = (constraints.get(gamma_constraint), constraints.get(beta_constraint))

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[self.axis],)
        self.gamma = self.add_weight(shape, self._first[0], name="gamma", regularizer=self._penalty[0],
                                     constraint=self._bound[0]) if self.scale else None
        self.beta = self.add_weight(shape, self._first[1], name="beta", regularizer=self._penalty[1],
                                    constraint=self._bound[1]) if self.center else None
        self.moving_mean = self.add_weight(shape, self._first[2], name="moving_mean", trainable=False)
        self.moving_variance = self.add_weight(
            shape, self._first[3], name="moving_variance", trainable=False)
        self.built = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        x = raw(inputs)
        narrow = x.dtype if x.dtype in (pm.f16, pm.bf16) else None
        if narrow is not None:
            x = pm.cast(x, pm.f32)
        axis = self.axis % x.ndim
        last = axis == x.ndim - 1
        order = [d for d in range(x.ndim) if d != axis] + [axis]
        moved = x if last else pm.transpose(x, order)
        channels = int(moved.shape[-1])
        flat = moved.reshape((math.prod(moved.shape[:-1]), 1, 1, channels)) if moved.ndim != 4 else moved
        gamma = weight(self.gamma, x) if self.gamma is not None else pm.ones((channels,), dtype=x.dtype)
        beta = weight(self.beta, x) if self.beta is not None else pm.zeros((channels,), dtype=x.dtype)
        if training and self.trainable:
            y, mean, variance = pm.batch_norm(flat, gamma, beta, epsilon=self.epsilon, layout="channels_last")
            for kept, new in ((self.moving_mean, mean), (self.moving_variance, variance)):
                old = read(kept)
                write(kept, old * self.momentum + pm.cast(pm.stop_gradient(new), old.dtype) * (1.0 - self.momentum))
        else:
            mean, variance = (pm.cast(read(kept), x.dtype) for kept in (self.moving_mean, self.moving_variance))
            by = pm.rsqrt(variance + self.epsilon) * gamma
            y = flat * by + (beta - mean * by)
        y = y.reshape(moved.shape)
        if not last:
            y = pm.transpose(y, [order.index(d) for d in range(x.ndim)])
        return wrap(y if narrow is None else pm.cast(y, narrow))


class LayerNormalization(Layer):
    supports_masking = True

    def __init__(
        self, axis: Any = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
        beta_initializer: Any = "zeros", gamma_initializer: Any = "ones", beta_regularizer: Any = None,
        gamma_regularizer: Any = None, beta_constraint: Any = None, gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else axis
        self.epsilon, self.center, self.scale = float(epsilon), center, scale
        self._first = (initializers.get(gamma_initializer), initializers.get(beta_initializer))
        self._penalty = (regularizers.get(gamma_regularizer), regularizers.get(beta_regularizer))
        self._bound = (constraints.get(gamma_constraint), constraints.get(beta_constraint))

    def _axes(self, rank: int) -> list[int]:
        axes = self.axis if isinstance(self.axis, list) else [self.axis]
        return sorted(a % rank for a in axes)

    def build(self, input_shape: Any) -> None:
        shape = [input_shape[a] for a in self._axes(len(input_shape))]
        self.gamma = self.add_weight(shape, self._first[0], name="gamma", regularizer=self._penalty[0],
                                     constraint=self._bound[0]) if self.scale else None
        self.beta = self.add_weight(shape, self._first[1], name="beta", regularizer=self._penalty[1],
                                    constraint=self._bound[1]) if self.center else None
        self.built = True

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        narrow = x.dtype if x.dtype in (pm.f16, pm.bf16) else None
        if narrow is not None:
            x = pm.cast(x, pm.f32)
        axes = self._axes(x.ndim)
        if axes == list(range(x.ndim - len(axes), x.ndim)):
            size = math.prod(x.shape[a] for a in axes)
            flat = x.reshape((x.size // size, size))
            gamma = pm.ones((size,), dtype=x.dtype) if self.gamma is None else weight(self.gamma, x).reshape((size,))
            beta = None if self.beta is None else weight(self.beta, x).reshape((size,))
            y = pm.layer_norm(flat, gamma, beta, epsilon=self.epsilon).reshape(x.shape)
        else:
            mean = pm.mean(x, axis=axes, keepdims=True)
            spread = pm.mean(pm.square(x - mean), axis=axes, keepdims=True)
            y = (x - mean) * pm.rsqrt(spread + self.epsilon)
            shape = [n if d in axes else 1 for d, n in enumerate(x.shape)]
            y = y if self.gamma is None else y * weight(self.gamma, x).reshape(shape)
            y = y if self.beta is None else y + weight(self.beta, x).reshape(shape)
        return wrap(y if narrow is None else pm.cast(y, narrow))


class RMSNormalization(Layer):
    supports_masking = True

    def __init__(self, axis: int = -1, epsilon: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if axis != -1:
            raise NotImplementedError("RMSNormalization(axis=...) other than -1 is not supported")
        self.epsilon = float(epsilon)

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight((input_shape[-1],), "ones", name="scale")
        self.built = True

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        return wrap(pm.rms_norm(x, weight(self.scale, x), epsilon=self.epsilon))


class GroupNormalization(Layer):
    supports_masking = True

    def __init__(
        self, groups: int = 32, axis: int = -1, epsilon: float = 1e-3, center: bool = True,
        scale: bool = True, beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
        beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None,
        gamma_constraint: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.groups, self.axis, self.epsilon = groups, axis, float(epsilon)
        self.center, self.scale = center, scale
        self._first = (initializers.get(gamma_initializer), initializers.get(beta_initializer))
        self._penalty = (regularizers.get(gamma_regularizer), regularizers.get(beta_regularizer))
        self._bound = (constraints.get(gamma_constraint), constraints.get(beta_constraint))

    def build(self, input_shape: Any) -> None:
        channels = input_shape[self.axis]
        if self.groups == -1:
            self.groups = channels
        if channels % self.groups:
            raise ValueError(f"Number of groups ({self.groups}) must be a multiple of the number of "
                             f"channels ({channels}).")
        self.gamma = self.add_weight((channels,), self._first[0], name="gamma",
                                     regularizer=self._penalty[0], constraint=self._bound[0]
                                     ) if self.scale else None
        self.beta = self.add_weight((channels,), self._first[1], name="beta", regularizer=self._penalty[1],
                                    constraint=self._bound[1]) if self.center else None
        self.built = True

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        axis = self.axis % x.ndim
        order = [d for d in range(x.ndim) if d != axis] + [axis]
        moved = x if axis == x.ndim - 1 else pm.transpose(x, order)
        n, channels = int(moved.shape[0]), int(moved.shape[-1])
        gamma = weight(self.gamma, x) if self.gamma is not None else pm.ones((channels,), dtype=x.dtype)
        beta = weight(self.beta, x) if self.beta is not None else pm.zeros((channels,), dtype=x.dtype)
        y = pm.group_norm(
            moved.reshape((n, math.prod(moved.shape[1:-1]), 1, channels)), gamma, beta, self.groups,
            epsilon=self.epsilon, layout="channels_last").reshape(moved.shape)
        return wrap(y if axis == x.ndim - 1 else pm.transpose(y, [order.index(d) for d in range(x.ndim)]))


class UnitNormalization(Layer):
    supports_masking = True

    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else [axis]

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        axes = [a % x.ndim for a in self.axis]
        squares = pm.sum(pm.square(x), axis=axes, keepdims=True)
        return wrap(x * pm.rsqrt(pm.maximum(squares, 1e-12)))


class SpectralNormalization(Layer):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("keras.layers.SpectralNormalization is not supported; use "
                                  "pm.nn.Dense(form=spectral_norm) in the library's own API")
