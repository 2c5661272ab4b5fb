"""tf.nn."""

from __future__ import annotations

from typing import Any

from . import _names
from ._ctc import ctc_loss
from ._math import in_top_k, l2_normalize, sigmoid, softplus, softsign, tanh, top_k, zero_fraction
from ._nn import (
    avg_pool, avg_pool1d, compute_average_loss, scale_regularization_loss, avg_pool2d, batch_normalization, bias_add, conv1d, conv2d, conv2d_transpose,
    convolution, crelu, depth_to_space, depthwise_conv2d, dropout, elu, embedding_lookup, gelu, l2_loss,
    leaky_relu, local_response_normalization, log_poisson_loss, log_softmax, lrn, max_pool, max_pool1d,
    max_pool2d, moments, relu, relu6, selu, separable_conv2d, sigmoid_cross_entropy_with_logits, silu,
    softmax, softmax_cross_entropy_with_logits, space_to_depth, sparse_softmax_cross_entropy_with_logits,
    swish, weighted_cross_entropy_with_logits,
)

__all__ = [
    "avg_pool", "avg_pool1d", "avg_pool2d", "batch_normalization", "bias_add", "compute_average_loss", "conv1d", "conv2d",
    "conv2d_transpose", "convolution", "crelu", "ctc_loss", "depth_to_space", "depthwise_conv2d", "dropout", "elu",
    "embedding_lookup", "gelu", "in_top_k", "l2_loss", "l2_normalize", "leaky_relu",
    "local_response_normalization", "log_poisson_loss", "log_softmax", "lrn", "max_pool", "max_pool1d",
    "max_pool2d", "moments", "relu", "relu6", "scale_regularization_loss", "selu", "separable_conv2d", "sigmoid",
    "sigmoid_cross_entropy_with_logits", "silu", "softmax", "softmax_cross_entropy_with_logits",
    "softplus", "softsign", "space_to_depth", "sparse_softmax_cross_entropy_with_logits", "swish",
    "tanh", "top_k", "weighted_cross_entropy_with_logits", "zero_fraction",
]


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.nn.{name}", __all__)
