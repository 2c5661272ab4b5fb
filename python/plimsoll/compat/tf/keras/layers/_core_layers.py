"""Dense, Embedding, activations, dropout and noise, Lambda, Masking."""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import numpy as np

import plimsoll as pm

from ..._tensor import Tensor
from ..._variable import lookups
from .. import activations, constraints, initializers, regularizers
from .._base import convert, op, raw, wrap
from ._layer import Layer


def weight(v: Any, like: pm.Tensor) -> pm.Tensor:
    """A weight's value in the dtype of what it is computed with."""
    found: pm.Tensor = v._variable.value
    return found if found.dtype == like.dtype else pm.cast(found, like.dtype)


def dense(x: pm.Tensor, kernel: pm.Tensor, bias: pm.Tensor | None) -> pm.Tensor:
    """x [..., in] times kernel [in, out], plus bias."""
    if x.ndim > 2:
        lead = tuple(x.shape[:-1])
        flat = x.reshape((math.prod(lead), x.shape[-1]))
        y = pm.matmul(flat, kernel)
        y = y if bias is None else y + bias
        return y.reshape(lead + (kernel.shape[1],))
    y = pm.matmul(x, kernel)
    return y if bias is None else y + bias


class Dense(Layer):
    supports_masking = True

    def __init__(
        self, units: int, activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, bias_constraint: Any = None, lora_rank: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if not isinstance(units, (int, np.integer)) or units <= 0:
            raise ValueError(
                f"Received an invalid value for `units`, expected a positive integer. Received: units={units}")
        if lora_rank is not None:
            raise NotImplementedError("Dense(lora_rank=...) is not supported")
        self.units, self.use_bias = int(units), use_bias
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)

    def build(self, input_shape: Any) -> None:
        if input_shape[-1] is None:
            raise ValueError("The last dimension of the inputs to a Dense layer should be defined. "
                             f"Found None. Full input shape received: {input_shape}")
        self.kernel = self.add_weight(
            (input_shape[-1], self.units), self.kernel_initializer, name="kernel",
            regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self.bias = self.add_weight(
            (self.units,), self.bias_initializer, name="bias", regularizer=self.bias_regularizer,
            constraint=self.bias_constraint) if self.use_bias else None
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        x = raw(inputs)
        if x.shape[-1] != self.kernel.shape[0]:
            raise ValueError(
                f"Input 0 of layer \"{self.name}\" is incompatible with the layer: expected axis -1 of "
                f"input shape to have value {self.kernel.shape[0]}, but received input with shape "
                f"{tuple(x.shape)}")
        if x.dtype not in (pm.f32, pm.f16, pm.bf16, pm.f64):
            x = pm.cast(x, pm.f32)
        bias = None if self.bias is None else weight(self.bias, x)
        return self.activation(wrap(dense(x, weight(self.kernel, x), bias)))


class EinsumDense(Layer):
    """A product by an equation: EinsumDense("abc,cd->abd", output_shape=(None, 64), bias_axes="d")."""

    def __init__(
        self, equation: str, output_shape: Any, activation: Any = None, bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.equation, self.bias_axes = equation, bias_axes
        self.partial_output_shape = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        self.activation = activations.get(activation)
        self._options = (kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
                         kernel_constraint, bias_constraint)

    def build(self, input_shape: Any) -> None:
        left, result = self.equation.replace("...", "").split("->")
        given, by = left.split(",")
        sizes = dict(zip(reversed(given), reversed(input_shape)))
        for name, size in zip(reversed(result), reversed(self.partial_output_shape)):
            if size is not None:
                sizes[name] = size
        ki, bi, kr, br, kc, bc = self._options
        self.kernel = self.add_weight([sizes[n] for n in by], ki, name="kernel", regularizer=kr,
                                      constraint=kc)
        self.bias = None
        if self.bias_axes:
            first = min(result.index(n) for n in self.bias_axes)
            shape = [sizes[n] if n in self.bias_axes else 1 for n in result[first:]]
            self.bias = self.add_weight(shape, bi, name="bias", regularizer=br, constraint=bc)
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        x = raw(inputs)
        y = pm.einsum(self.equation, x, weight(self.kernel, x))
        return self.activation(wrap(y if self.bias is None else y + weight(self.bias, x)))


class Embedding(Layer):
    def __init__(
        self, input_dim: int, output_dim: int, embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None, embeddings_constraint: Any = None, mask_zero: bool = False,
        weights: Any = None, input_length: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(weights=weights, **kwargs)
        self.input_dim, self.output_dim, self.mask_zero = input_dim, output_dim, mask_zero
        self.supports_masking = mask_zero
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.autocast = False

    def build(self, input_shape: Any = None) -> None:
        self.embeddings = self.add_weight(
            (self.input_dim, self.output_dim), self.embeddings_initializer, name="embeddings",
            regularizer=self.embeddings_regularizer, constraint=self.embeddings_constraint)
        self.built = True

    def call(self, inputs: Any) -> Any:
        ids = raw(inputs)
        if ids.dtype not in (pm.i32, pm.i64):
            ids = pm.cast(ids, pm.i32)
        found = pm.embedding(self.embeddings._variable.value, ids)
        if self.embeddings_regularizer is None:
            for each in lookups:
                each(self.embeddings, ids, found)
        if self.compute_dtype != self.variable_dtype:
            return convert(wrap(found), self.compute_dtype)
        return wrap(found)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return wrap(raw(inputs) != 0) if self.mask_zero else None


class Activation(Layer):
    supports_masking = True

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class ReLU(Layer):
    supports_masking = True

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs: Any) -> Any:
        return activations.relu(inputs, float(self.negative_slope), self.max_value, float(self.threshold))


class LeakyReLU(Layer):
    supports_masking = True

    def __init__(self, negative_slope: float = 0.3, alpha: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.negative_slope = float(negative_slope if alpha is None else alpha)

    def call(self, inputs: Any) -> Any:
        return activations.leaky_relu(inputs, self.negative_slope)


class ELU(Layer):
    supports_masking = True

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Any:
        return activations.elu(inputs, self.alpha)


class PReLU(Layer):
    supports_masking = True

    def __init__(
        self, alpha_initializer: Any = "Zeros", alpha_regularizer: Any = None,
        alpha_constraint: Any = None, shared_axes: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else list(shared_axes or ())

    def build(self, input_shape: Any) -> None:
        shape = list(input_shape[1:])
        for each in self.shared_axes:
            shape[each - 1] = 1
        self.alpha = self.add_weight(shape, self.alpha_initializer, name="alpha",
                                     regularizer=self.alpha_regularizer, constraint=self.alpha_constraint)
        self.built = True

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        return wrap(pm.relu(x) - pm.relu(-x) * weight(self.alpha, x))


class Softmax(Layer):
    supports_masking = True

    def __init__(self, axis: int | Sequence[int] = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is not None:
            x = raw(inputs)
            on = pm.cast(raw(mask), x.dtype)
            inputs = wrap(x + (1.0 - on) * (-3e4 if x.dtype == pm.f16 else -1e9))
        return activations.softmax(inputs, self.axis)


class Dropout(Layer):
    supports_masking = True

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0 <= rate <= 1:
            raise ValueError(
                f"Invalid value received for argument `rate`. Expected a float value between 0 and 1. "
                f"Received: rate={rate}")
        self.rate, self.seed, self.noise_shape = float(rate), seed, noise_shape

    def _noise(self, x: pm.Tensor) -> Sequence[int] | None:
        if self.noise_shape is None:
            return None
        return [x.shape[i] if n is None else int(n) for i, n in enumerate(self.noise_shape)]

    def call(self, inputs: Any, training: Any = False) -> Any:
        if not training or self.rate == 0:
            return inputs
        return _dropped(inputs, self.rate, self._noise(raw(inputs)))


@op
def _dropped(x: pm.Tensor, rate: float, noise: Sequence[int] | None) -> pm.Tensor:
    if rate >= 1:
        return pm.zeros_like(x)
    if noise is None:
        return pm.dropout(x, rate)
    return x * pm.dropout(pm.ones(tuple(noise), dtype=x.dtype), rate)


class SpatialDropout1D(Dropout):
    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, seed=seed, **kwargs)

    def _noise(self, x: pm.Tensor) -> Sequence[int]:
        return [x.shape[0]] + [1] * (x.ndim - 2) + [x.shape[-1]]


class SpatialDropout2D(SpatialDropout1D):
    def __init__(
        self, rate: float, data_format: str | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(rate, seed, **kwargs)
        self._first = data_format == "channels_first"

    def _noise(self, x: pm.Tensor) -> Sequence[int]:
        if self._first:
            return [x.shape[0], x.shape[1]] + [1] * (x.ndim - 2)
        return super()._noise(x)


class SpatialDropout3D(SpatialDropout2D):
    pass


class GaussianNoise(Layer):
    supports_masking = True

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev, self.seed = float(stddev), seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        if not training or self.stddev == 0:
            return inputs
        x = raw(inputs)
        return wrap(x + pm.cast(pm.random_normal(tuple(x.shape)), x.dtype) * self.stddev)


class GaussianDropout(Layer):
    supports_masking = True

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.seed = float(rate), seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        if not training or self.rate == 0:
            return inputs
        x = raw(inputs)
        deviation = math.sqrt(self.rate / (1.0 - self.rate))
        return wrap(x * (pm.cast(pm.random_normal(tuple(x.shape)), x.dtype) * deviation + 1.0))


class AlphaDropout(GaussianDropout):
    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(rate, seed, **kwargs)

    def call(self, inputs: Any, training: Any = False) -> Any:
        if not training or self.rate == 0:
            return inputs
        x = raw(inputs)
        low = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946
        kept = pm.cast(pm.random_uniform(tuple(x.shape)) >= self.rate, x.dtype)
        a = ((1 - self.rate) * (1 + self.rate * low**2)) ** -0.5
        return wrap((x * kept + (1.0 - kept) * low) * a + (-a * low * self.rate))


class ActivityRegularization(Layer):
    supports_masking = True

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1, l2), **kwargs)

    def call(self, inputs: Any) -> Any:
        return inputs


class Lambda(Layer):
    """Any function of tensors as a layer."""

    def __init__(
        self, function: Callable[..., Any], output_shape: Any = None, mask: Any = None,
        arguments: dict[str, Any] | None = None, **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.function, self.arguments = function, arguments or {}

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        import inspect

        known = inspect.signature(self.function).parameters
        more = {"training": training} if "training" in known else {}
        return self.function(inputs, **self.arguments, **more)

    def get_config(self) -> dict[str, Any]:
        if self.function.__name__ == "<lambda>":
            raise NotImplementedError(
                f"the Lambda layer {self.name} has a Python lambda, which cannot be written down; give it "
                "a named function, registered with keras.saving.register_keras_serializable()")
        return super().get_config()


class Masking(Layer):
    """Steps of which all values are `mask_value` do not count."""

    supports_masking = True

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return wrap(pm.any(raw(inputs) != self.mask_value, axis=-1))

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        on = pm.any(x != self.mask_value, axis=-1, keepdims=True)
        return wrap(x * pm.cast(on, x.dtype))


class Identity(Layer):
    supports_masking = True

    def call(self, inputs: Any) -> Any:
        return Tensor(inputs._value) if isinstance(inputs, Tensor) else inputs
