"""keras.ops.nn: activations, losses, convolutions, pooling, attention."""

from __future__ import annotations

import math
from typing import Any, Callable

from ... import _arrays, _create, _ctc, _math, _nn, _operators, _reduce, _select
from .. import activations, losses
from ._types import cast, floating, pair, tensor


def _activation(name: str) -> Callable[..., Any]:
    found = getattr(activations, name)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return found(floating(x), *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


relu, relu6, sigmoid, silu = (_activation(each) for each in ("relu", "relu6", "sigmoid", "silu"))
softplus, softsign, tanh, elu = (_activation(each) for each in ("softplus", "softsign", "tanh", "elu"))
selu, gelu, celu, glu = (_activation(each) for each in ("selu", "gelu", "celu", "glu"))
leaky_relu, hard_sigmoid, hard_silu = (_activation(each) for each in ("leaky_relu", "hard_sigmoid", "hard_silu"))
softmax, log_softmax, log_sigmoid = (_activation(each) for each in ("softmax", "log_softmax", "log_sigmoid"))
swish, hard_swish = silu, hard_silu


def one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    return _select.one_hot(cast(x, "int32"), num_classes, axis=axis, dtype=dtype or "float32")


def multi_hot(
    inputs: Any, num_classes: int | None = None, axis: int = -1, dtype: Any = None, sparse: bool = False, **old: Any
) -> Any:
    hot = one_hot(inputs, int(num_classes or old["num_tokens"]), axis, dtype)
    return _reduce.reduce_max(hot, 1 if hot.shape.rank == 3 else 0)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    y, p = pair(floating(target), floating(output))
    if from_logits:
        return _nn.sigmoid_cross_entropy_with_logits(y, p)
    p = _math.clip_by_value(p, 1e-7, 1.0 - 1e-7)
    return -(y * _math.log(p) + (1.0 - y) * _math.log(1.0 - p))


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    return losses.categorical_crossentropy(target, output, from_logits=from_logits, axis=axis)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    return losses.sparse_categorical_crossentropy(target, output, from_logits=from_logits, axis=axis)


def ctc_loss(target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0) -> Any:
    return _ctc.ctc_loss(cast(target, "int32"), floating(output), target_length, output_length,
                         logits_time_major=False, blank_index=mask_index)


def moments(x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False) -> Any:
    return tuple(_nn.moments(floating(x), axes, keepdims=keepdims))


def batch_normalization(
    x: Any, mean: Any, variance: Any, axis: int, offset: Any = None, scale: Any = None, epsilon: float = 1e-3
) -> Any:
    made = tensor(x)
    dims = [1] * made.shape.rank
    dims[axis] = int(made.shape[axis])
    mean, variance, offset, scale = (
        None if each is None else _arrays.reshape(tensor(each), dims) for each in (mean, variance, offset, scale)
    )
    return _nn.batch_normalization(made, mean, variance, offset, scale, epsilon)


def normalize(x: Any, axis: int = -1, order: int = 2, epsilon: float | None = None) -> Any:
    made = floating(x)
    least = 1e-7 if epsilon is None else epsilon
    if order == 2:
        squares = _reduce.reduce_sum(made * made, axis, True)
        return made * _math.rsqrt(_operators.maximum(squares, least**2))
    return made / _operators.maximum(_reduce.norm(made, order, axis, True), least)


def _spatial(strides: Any, count: int) -> list[int]:
    return [int(strides)] * count if isinstance(strides, int) else [int(each) for each in strides]


def conv(
    inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid", data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    x, w = pair(floating(inputs), floating(kernel))
    count = x.shape.rank - 2
    return _nn.convolution(x, w, _spatial(strides, count), padding.upper(), None, _spatial(dilation_rate, count))


def depthwise_conv(
    inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid", data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    x, w = pair(floating(inputs), floating(kernel))
    return _nn.depthwise_conv2d(x, w, [1, *_spatial(strides, 2), 1], padding.upper(), None, _spatial(dilation_rate, 2))


def _pooled(f: Callable[..., Any], inputs: Any, pool_size: Any, strides: Any, padding: str) -> Any:
    x = tensor(inputs)
    size = _spatial(pool_size, x.shape.rank - 2)
    return f(x, size, size if strides is None else _spatial(strides, x.shape.rank - 2), padding.upper())


def max_pool(inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: Any = None) -> Any:
    return _pooled(_nn.max_pool, inputs, pool_size, strides, padding)


def average_pool(
    inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: Any = None
) -> Any:
    return _pooled(_nn.avg_pool, inputs, pool_size, strides, padding)


def dot_product_attention(
    query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, scale: float | None = None,
    is_causal: bool = False, flash_attention: Any = None, attn_logits_soft_cap: Any = None,
) -> Any:
    """Attention of [batch, positions, heads, width]."""
    q, k, v = floating(query), floating(key), floating(value)
    scores = _math.einsum("btnh,bsnh->bnts", q, k) * (1.0 / math.sqrt(int(q.shape[-1])) if scale is None else scale)
    if attn_logits_soft_cap is not None:
        scores = _math.tanh(scores / attn_logits_soft_cap) * attn_logits_soft_cap
    if bias is not None:
        scores = scores + cast(bias, scores.dtype)
    if is_causal:
        from ._shapes import ones, tril

        lower = cast(tril(ones((int(q.shape[1]), int(k.shape[1])))), "bool")
        mask = lower if mask is None else _operators.logical_and(cast(mask, "bool"), lower)
    if mask is not None:
        scores = _arrays.where(cast(mask, "bool"), scores, _create.zeros_like(scores) - 1e9)
    return _math.einsum("bnts,bsnh->btnh", _nn.softmax(scores), v)
