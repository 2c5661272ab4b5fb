"""The ops: functions of tensors, which also are pm.relu, pm.matmul and so on."""

from __future__ import annotations

from ._composed import argmin, expand_dims, logsumexp, squeeze
from ._core import (
    abs, add, all, any, arange, argmax, argsort, attention, avg_pool2d, batch_norm,
    batch_norm_inference, broadcast_to, cast, cholesky, clip, clip_by_global_norm, clip_by_norm,
    concat, conv2d, conv2d_transpose, cos, cumprod, cumsum, div, dropout, einsum, elu, embedding,
    equal, erf, exp, eye, flip, floor, full, gather, gather_nd, gelu, global_avg_pool2d,
    global_norm, greater, greater_equal, group_norm, gru_cell, is_finite, layer_norm, leaky_relu, less,
    less_equal, linear, linear_cross_entropy, linspace, log, log1p, log_softmax, logical_and,
    logical_not, logical_or, lower_triangle, lstm_cell, matmul, max, max_pool2d, maximum, mean, min,
    minimum, mul, neg, nonzero, norm, not_equal, one_hot, ones, ones_like, pad, pow, prod, random_normal,
    random_uniform, reciprocal, relu, repeat, reshape, rms_norm, roll, round, rsqrt, scale,
    scatter_add, scatter_nd, self_attention, shift, sigmoid, sign, silu, sin, softmax, softplus,
    solve, sort, split, sqrt, square, stack, stop_gradient, sub, sum, svd, take_along, tanh, tile,
    top_k, transpose, triangular_solve, tril, triu, unique, upsample_nearest2d, variance, where,
    zeros, zeros_like,
)

__all__ = [
    "abs", "add", "all", "any", "arange", "argmax", "argmin", "argsort", "attention", "avg_pool2d",
    "batch_norm", "batch_norm_inference", "broadcast_to", "cast", "cholesky", "clip",
    "clip_by_global_norm", "clip_by_norm", "concat", "conv2d", "conv2d_transpose", "cos", "cumprod",
    "cumsum", "div", "dropout", "einsum", "elu", "embedding", "equal", "erf", "exp", "expand_dims", "eye", "flip",
    "floor", "full", "gather", "gather_nd", "gelu", "global_avg_pool2d", "global_norm", "greater",
    "greater_equal", "group_norm", "gru_cell", "is_finite", "layer_norm", "leaky_relu", "less", "less_equal",
    "linear", "linear_cross_entropy", "linspace", "log", "log1p", "log_softmax", "logsumexp", "logical_and",
    "logical_not", "logical_or", "lower_triangle", "lstm_cell", "matmul", "max", "max_pool2d", "maximum", "mean", "min",
    "minimum", "mul", "neg", "nonzero", "norm", "not_equal", "one_hot", "ones", "ones_like", "pad",
    "pow", "prod", "random_normal", "random_uniform", "reciprocal", "relu", "repeat", "reshape",
    "rms_norm", "roll", "round", "rsqrt", "scale", "scatter_add", "scatter_nd", "self_attention",
    "shift", "sigmoid", "sign", "silu", "sin", "softmax", "softplus", "solve", "sort", "split",
    "sqrt", "square", "squeeze", "stack", "stop_gradient", "sub", "sum", "svd", "take_along", "tanh", "tile",
    "top_k", "transpose", "triangular_solve", "tril", "triu", "unique", "upsample_nearest2d",
    "variance", "where", "zeros", "zeros_like",
]
