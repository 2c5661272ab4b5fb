"""tf.compat.v1.nn: tf.nn, and what only TensorFlow 1 has."""

from __future__ import annotations

from typing import Any

from ... import nn as _nn
from ..._operators import add, matmul


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """matmul(x, weights) + biases."""
    return add(matmul(x, weights), biases)


def dropout(
    x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: Any = None, name: str | None = None, rate: Any = None
) -> Any:
    """tf.nn.dropout, by the share that stays or by the one that goes."""
    if rate is None and keep_prob is None:
        raise ValueError("`rate` must be provided")
    return _nn.dropout(x, 1.0 - keep_prob if rate is None else rate, noise_shape, seed)


softmax_cross_entropy_with_logits_v2 = _nn.softmax_cross_entropy_with_logits


def __getattr__(name: str) -> Any:
    return getattr(_nn, name)
