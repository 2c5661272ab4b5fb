"""Attention layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import plimsoll as pm

from ..._tensor import Tensor
from .. import constraints, initializers, regularizers
from .._base import raw, wrap
from ._core_layers import weight
from ._layer import Layer


def _mask_of(x: Any) -> pm.Tensor | None:
    found = getattr(x, "_keras_mask", None)
    return None if found is None else raw(found)


def causal_mask(queries: int, keys: int) -> pm.Tensor:
    return pm.tensor(np.tril(np.ones((queries, keys), bool)))


def hidden(scores: pm.Tensor, mask: pm.Tensor | None) -> pm.Tensor:
    """Scores with those that do not count far below the others."""
    if mask is None:
        return scores
    least = -6e4 if scores.dtype == pm.f16 else -1e9
    return scores + pm.cast(pm.logical_not(mask), scores.dtype) * least


class Projection(Layer):
    """x [n, t, in] to heads [n, t, h, size], or back: the kernels that Keras keeps."""

    def __init__(self, shape: tuple[int, ...], inner: int, bias_shape: tuple[int, ...] | None,
                 options: tuple[Any, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._shape, self._inner, self._bias_shape, self._options = shape, inner, bias_shape, options

    def build(self, input_shape: Any = None) -> None:
        ki, bi, kr, br, kc, bc = self._options
        self.kernel = self.add_weight(self._shape, ki, name="kernel", regularizer=kr, constraint=kc)
        self.bias = None if self._bias_shape is None else self.add_weight(
            self._bias_shape, bi, name="bias", regularizer=br, constraint=bc)
        self.built = True

    def project(self, x: pm.Tensor) -> pm.Tensor:
        """[n, t, in] to [n, t, out], with the kernel as a matrix."""
        kernel = weight(self.kernel, x).reshape((self._inner, math.prod(self._shape)
                                                 // self._inner))
        n, t, _ = x.shape
        y = pm.matmul(x.reshape((n * t, self._inner)), kernel)
        if self.bias is not None:
            bias = weight(self.bias, x)
            y = y + bias.reshape((bias.size,))
        return y.reshape((n, t, kernel.shape[1]))


class MultiHeadAttention(Layer):
    supports_masking = True

    def __init__(
        self, num_heads: int, key_dim: int, value_dim: int | None = None, dropout: float = 0.0,
        use_bias: bool = True, output_shape: Any = None, attention_axes: Any = None,
        flash_attention: Any = None, kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros", kernel_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
        seed: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if attention_axes is not None:
            raise NotImplementedError("MultiHeadAttention(attention_axes=...) is not supported; reshape "
                                      "to [n, tokens, features] first")
        self.num_heads, self.key_dim = num_heads, key_dim
        self.value_dim = value_dim or key_dim
        self.dropout, self.use_bias = float(dropout), use_bias
        self._output = output_shape if output_shape is None or isinstance(output_shape, int) else output_shape[0]
        self._options = (
            initializers.get(kernel_initializer), initializers.get(bias_initializer),
            regularizers.get(kernel_regularizer), regularizers.get(bias_regularizer),
            constraints.get(kernel_constraint), constraints.get(bias_constraint))

    def build(self, query_shape: Any, value_shape: Any = None, key_shape: Any = None) -> None:
        value_shape = value_shape or query_shape
        key_shape = key_shape or value_shape
        heads = self.num_heads

        def into(width: int, size: int, name: str) -> Projection:
            return Projection((width, heads, size), width, (heads, size) if self.use_bias else None,
                              self._options, name=name, dtype=self.dtype_policy)

        self._query_dense = into(query_shape[-1], self.key_dim, "query")
        self._key_dense = into(key_shape[-1], self.key_dim, "key")
        self._value_dense = into(value_shape[-1], self.value_dim, "value")
        out = self._output or query_shape[-1]
        self._output_dense = Projection(
            (heads, self.value_dim, out), heads * self.value_dim, (out,) if self.use_bias else None,
            self._options, name="attention_output", dtype=self.dtype_policy)
        for each in (self._query_dense, self._key_dense, self._value_dense, self._output_dense):
            each.build()
        self.built = True

    def call(
        self, query: Any, value: Any, key: Any = None, query_mask: Any = None, value_mask: Any = None,
        key_mask: Any = None, attention_mask: Any = None, return_attention_scores: bool = False,
        training: Any = None, use_causal_mask: bool = False,
    ) -> Any:
        key = value if key is None else key
        q_mask = _mask_of(query) if query_mask is None else raw(query_mask)
        v_mask = _mask_of(value) if value_mask is None else raw(value_mask)
        k_mask = None if key is value else (_mask_of(key) if key_mask is None else raw(key_mask))
        for given in (query, value, key):  # as in Keras: what reads these tensors after it sees no mask
            if isinstance(given, Tensor):
                given._keras_mask = None
        given_q, given_k, given_v = raw(query), raw(key), raw(value)
        n, t, s = int(given_q.shape[0]), int(given_q.shape[1]), int(given_v.shape[1])

        def heads(x: pm.Tensor, size: int) -> pm.Tensor:
            return pm.transpose(x.reshape((n, x.shape[1], self.num_heads, size)), [0, 2, 1, 3])

        q = heads(self._query_dense.project(given_q), self.key_dim)
        k = heads(self._key_dense.project(given_k), self.key_dim)
        v = heads(self._value_dense.project(given_v), self.value_dim)
        mask = None if attention_mask is None else pm.cast(raw(attention_mask), pm.bool_)
        if mask is not None and mask.ndim == 3:
            mask = mask.reshape((mask.shape[0], 1, mask.shape[1], mask.shape[2]))
        for each, shape in ((q_mask, (n, 1, t, 1)), (v_mask, (n, 1, 1, s)), (k_mask, (n, 1, 1, s))):
            if each is not None:
                shown = pm.cast(each, pm.bool_).reshape(shape)
                mask = shown if mask is None else pm.logical_and(mask, shown)
        drops = self.dropout > 0 and bool(training)
        plain = mask is None and not drops and not return_attention_scores
        if plain and self.key_dim == self.value_dim and (not use_causal_mask or t == s):
            y = pm.attention(q, k, v, causal=use_causal_mask)
            scores = None
        else:
            if use_causal_mask:
                causal = causal_mask(t, s).reshape((1, 1, t, s))
                mask = causal if mask is None else pm.logical_and(mask, causal)
            products = pm.matmul(q * (1.0 / math.sqrt(self.key_dim)), pm.transpose(k, [0, 1, 3, 2]))
            scores = pm.softmax(hidden(products, mask), axis=-1)
            y = pm.matmul(pm.dropout(scores, self.dropout) if drops else scores, v)
        y = pm.transpose(y, [0, 2, 1, 3]).reshape((n, t, self.num_heads * self.value_dim))
        result = wrap(self._output_dense.project(y))
        return (result, wrap(scores)) if return_attention_scores else result


class Attention(Layer):
    """Luong's: softmax(query keyᵀ) value, of [query, value] or [query, value, key]."""

    supports_masking = True

    def __init__(
        self, use_scale: bool = False, score_mode: str = "dot", dropout: float = 0.0, seed: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if score_mode not in ("dot", "concat"):
            raise ValueError(f"Invalid value for argument score_mode. Received: score_mode={score_mode}")
        self.use_scale, self.score_mode, self.dropout = use_scale, score_mode, float(dropout)
        self.scale: Any = None
        self.concat_score_weight: Any = None

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            self.scale = self.add_weight((), "ones", name="scale")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight((), "ones", name="concat_score_weight")
        self.built = True

    def _scores(self, q: pm.Tensor, k: pm.Tensor) -> pm.Tensor:
        if self.score_mode == "dot":
            found = pm.matmul(q, pm.transpose(k, [0, 2, 1]))
            return found if self.scale is None else found * weight(self.scale, q)
        spread = q.reshape((q.shape[0], q.shape[1], 1, q.shape[2])) + k.reshape(
            (k.shape[0], 1, k.shape[1], k.shape[2]))
        spread = spread if self.scale is None else spread * weight(self.scale, q)
        return pm.sum(pm.tanh(spread), axis=-1) * weight(self.concat_score_weight, q)

    def call(
        self, inputs: Any, mask: Any = None, training: Any = False, return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        q, v = raw(inputs[0]), raw(inputs[1])
        k = raw(inputs[2]) if len(inputs) > 2 else v
        masks = mask or [None, None]
        scores = self._scores(q, k)
        on = None
        if masks[1] is not None:
            on = pm.cast(raw(masks[1]), pm.bool_).reshape((v.shape[0], 1, v.shape[1]))
        if use_causal_mask:
            causal = causal_mask(q.shape[1], k.shape[1]).reshape((1, q.shape[1], k.shape[1]))
            on = causal if on is None else pm.logical_and(on, causal)
        weights = pm.softmax(hidden(scores, on), axis=-1)
        if training and self.dropout:
            weights = pm.dropout(weights, self.dropout)
        y = pm.matmul(weights, v)
        if masks[0] is not None:
            y = y * pm.cast(raw(masks[0]), y.dtype).reshape((y.shape[0], y.shape[1], 1))
        return (wrap(y), wrap(weights)) if return_attention_scores else wrap(y)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask[0] if mask else None


class AdditiveAttention(Attention):
    """Bahdanau's."""

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            self.scale = self.add_weight((input_shape[0][-1],), "glorot_uniform", name="scale")
        self.built = True

    def _scores(self, q: pm.Tensor, k: pm.Tensor) -> pm.Tensor:
        spread = pm.tanh(q.reshape((q.shape[0], q.shape[1], 1, q.shape[2])) + k.reshape(
            (k.shape[0], 1, k.shape[1], k.shape[2])))
        return pm.sum(spread if self.scale is None else spread * weight(self.scale, q), axis=-1)


class GroupQueryAttention(Layer):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("keras.layers.GroupQueryAttention is not supported; use MultiHeadAttention")
