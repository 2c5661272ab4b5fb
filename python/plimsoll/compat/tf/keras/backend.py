"""keras.backend: numbers that Keras keeps, memory, and functions of old."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

import plimsoll as pm

from ._base import (
    epsilon as epsilon, floatx as floatx, reset_names, set_epsilon as set_epsilon,
    set_floatx as set_floatx, static_shape, unique_name,
)
from ._forward import forward


def clear_session(free_memory: bool = True) -> None:
    """Forgets names and graphs, and gives back memory that no object of the program holds."""
    from .._variable import _names as variable_names

    reset_names()
    variable_names.clear()
    gc.collect()
    device = pm.default_device()
    trim = getattr(device, "trim", None)
    if trim is not None and free_memory:
        trim()


def backend() -> str:
    return "tensorflow"


def image_data_format() -> str:
    return "channels_last"


def set_image_data_format(value: str) -> None:
    if value != "channels_last":
        raise NotImplementedError("only channels_last is supported; give layers data_format=\"channels_first\"")


def get_uid(prefix: str = "") -> int:
    return int(unique_name(f"_uid_{prefix}").rsplit("_", 1)[-1] or 0) + 1


def reset_uids() -> None:
    reset_names()


def get_value(x: Any) -> Any:
    return x.numpy() if hasattr(x, "numpy") else x


def set_value(x: Any, value: Any) -> None:
    x.assign(np.asarray(value))


def batch_set_value(pairs: Any) -> None:
    for each, value in pairs:
        set_value(each, value)


def batch_get_value(values: Any) -> list[Any]:
    return [get_value(each) for each in values]


def count_params(x: Any) -> int:
    return int(np.prod([int(n) for n in x.shape]))


def int_shape(x: Any) -> Any:
    return static_shape(x)


def is_keras_tensor(x: Any) -> bool:
    from ._base import is_symbolic

    return is_symbolic([x])


def result_type(*dtypes: Any) -> str:
    return str(np.result_type(*[getattr(each, "dtype", each) for each in dtypes]))


def standardize_dtype(dtype: Any) -> str:
    from ._base import name_of_dtype

    return floatx() if dtype is None else name_of_dtype(dtype)


def learning_phase() -> bool:
    from ._base import calls

    return bool(calls.training)


_TF = {
    "abs": "abs", "cast": "cast", "clip": "clip_by_value", "constant": "constant",
    "exp": "exp", "expand_dims": "expand_dims", "gather": "gather", "log": "math.log",
    "max": "reduce_max", "maximum": "maximum", "mean": "reduce_mean", "min": "reduce_min",
    "minimum": "minimum", "ones": "ones", "ones_like": "ones_like", "pow": "pow", "prod": "reduce_prod",
    "reshape": "reshape", "round": "round", "shape": "shape", "sign": "sign", "sqrt": "sqrt",
    "square": "square", "squeeze": "squeeze", "stack": "stack", "sum": "reduce_sum", "tile": "tile",
    "transpose": "transpose", "zeros": "zeros", "zeros_like": "zeros_like", "argmax": "argmax",
    "argmin": "argmin", "equal": "equal", "not_equal": "not_equal", "greater": "greater", "less": "less",
    "greater_equal": "greater_equal", "less_equal": "less_equal", "cos": "cos", "sin": "sin",
    "any": "reduce_any", "all": "reduce_all", "one_hot": "one_hot", "stop_gradient": "stop_gradient",
    "random_normal": "random.normal", "random_uniform": "random.uniform", "dot": "matmul",
    "std": "math.reduce_std", "var": "math.reduce_variance", "eye": "eye",
    "cumsum": "cumsum", "identity": "identity", "reverse": "reverse", "cumprod": "math.cumprod", "foldl": "foldl",
    "foldr": "foldr", "map_fn": "map_fn", "truncated_normal": "random.truncated_normal",
}
_ACTIVATIONS = ("relu", "sigmoid", "softmax", "tanh", "elu", "softplus", "softsign", "hard_sigmoid")


def __getattr__(name: str) -> Any:
    from . import _old_backend

    if not name.startswith("_") and hasattr(_old_backend, name):
        return getattr(_old_backend, name)
    return forward("keras.backend", name, _ACTIVATIONS, _TF)


__all__ = ["backend", "clear_session", "epsilon", "floatx", "set_epsilon", "set_floatx"]
