"""keras.ops: tf's functions by NumPy's names."""

from __future__ import annotations

from typing import Any

from ._forward import forward

_TF = {
    "abs": "abs", "add": "add", "all": "reduce_all", "any": "reduce_any", "arange": "range",
    "argmax": "argmax", "argmin": "argmin", "argsort": "argsort", "broadcast_to": "broadcast_to",
    "cast": "cast", "clip": "clip_by_value", "concatenate": "concat", "convert_to_tensor": "convert_to_tensor",
    "cos": "cos", "cumsum": "cumsum", "divide": "divide", "einsum": "einsum", "equal": "equal",
    "erf": "math.erf", "exp": "exp", "expand_dims": "expand_dims", "eye": "eye", "floor": "floor",
    "greater": "greater", "greater_equal": "greater_equal", "isnan": "math.is_nan", "less": "less",
    "less_equal": "less_equal", "linspace": "linspace", "log": "math.log", "log1p": "math.log1p",
    "logical_and": "logical_and", "logical_not": "logical_not", "logical_or": "logical_or",
    "logsumexp": "reduce_logsumexp", "matmul": "matmul", "max": "reduce_max", "maximum": "maximum",
    "mean": "reduce_mean", "min": "reduce_min", "minimum": "minimum", "multiply": "multiply",
    "negative": "negative", "norm": "norm", "not_equal": "not_equal", "ones": "ones",
    "ones_like": "ones_like", "one_hot": "one_hot", "pad": "pad", "power": "pow", "prod": "reduce_prod",
    "repeat": "repeat", "reshape": "reshape", "roll": "roll", "round": "round", "rsqrt": "math.rsqrt",
    "shape": "shape", "sigmoid": "sigmoid", "sign": "sign", "sin": "sin", "sort": "sort", "split": "split",
    "sqrt": "sqrt", "square": "square", "squeeze": "squeeze", "stack": "stack", "std": "math.reduce_std",
    "stop_gradient": "stop_gradient", "subtract": "subtract", "sum": "reduce_sum", "take": "gather",
    "tanh": "tanh", "tensordot": "tensordot", "tile": "tile", "top_k": "math.top_k",
    "transpose": "transpose", "unstack": "unstack", "var": "math.reduce_variance", "where": "where",
    "zeros": "zeros", "zeros_like": "zeros_like", "cond": "cond", "while_loop": "while_loop",
    "vectorized_map": "vectorized_map", "segment_sum": "math.segment_sum", "fill": "fill", "full": None,
}
_ACTIVATIONS = ("relu", "relu6", "leaky_relu", "elu", "selu", "gelu", "silu", "softmax", "log_softmax",
                "softplus", "softsign", "hard_sigmoid", "hard_silu", "log_sigmoid", "glu", "celu")


def __getattr__(name: str) -> Any:
    return forward("keras.ops", name, _ACTIVATIONS, _TF)
