"""tf.compat.v1.nn: tf.nn, and what only TensorFlow 1 has."""

from __future__ import annotations

import functools
import inspect
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


_OLD = {"filter": "filters", "value": "input", "dim": "axis", "seq_dim": "seq_axis"}
"""Names of arguments that TensorFlow 2 has renamed."""


def __getattr__(name: str) -> Any:
    found = getattr(_nn, name)
    if not inspect.isfunction(found):
        return found
    known = inspect.signature(found).parameters

    @functools.wraps(found)
    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("use_cudnn_on_gpu", None)
        named = {_OLD[key] if key not in known and _OLD.get(key) in known else key: each for key, each in kwargs.items()}
        return found(*args, **named)

    return call
