"""tf.compat.v1: graphs that are run by sessions. What is not named here is as in tf."""

from __future__ import annotations

import importlib
from typing import Any

from ... import _names, _state
from ..._graph import Graph, default_graph, reset_default_graph
from ..._random import (
    constant_initializer, glorot_normal_initializer, glorot_uniform_initializer, ones_initializer,
    random_normal_initializer, random_uniform_initializer, truncated_normal_initializer,
    zeros_initializer,
)
from ..._session import InteractiveSession, Session, get_default_session
from ..._tape import gradients
from ..._v1 import (
    AUTO_REUSE, ConfigProto, GPUOptions, GraphKeys, GraphOptions, OptimizerOptions, RunOptions,
    add_to_collection, all_variables, arg_max, arg_min, assert_global_step, assign, assign_add,
    assign_sub, colocate_with, control_dependencies, convert_to_tensor_or_sparse_tensor, count_nonzero,
    div, expand_dims, get_collection, get_collection_ref, get_local_variable, get_seed, get_variable,
    get_variable_scope, global_variables, global_variables_initializer, initialize_all_variables,
    initialize_variables, initializers, is_variable_initialized, local_variables,
    local_variables_initializer, log, losses, model_variables, multinomial, no_regularizer, placeholder,
    placeholder_with_default, random_normal, random_shuffle, random_uniform, reduce_all, reduce_any,
    reduce_logsumexp, reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_sum, report_uninitialized_variables,
    set_random_seed, squeeze, to_double, to_float, to_int32, to_int64, trainable_variables,
    truncated_normal, variable_scope, variables_initializer,
)
from ..._variable import Variable
from . import _old_names

_MODULES = ("train", "nn", "losses", "summary", "logging", "layers", "keras", "io", "gfile", "math", "random",
            "image", "data", "errors", "strings", "linalg", "initializers", "app", "flags", "saved_model",
            "metrics", "distribute", "config", "debugging", "test", "estimator", "feature_column", "lookup")


def disable_eager_execution() -> None:
    """From now on ops are recorded into the default graph."""
    _state.default_graph_on[0] = True


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Ops run at once again, as they do from the start."""
    _state.default_graph_on[0] = False


def executing_eagerly() -> bool:
    from ..._control import executing_eagerly as now

    return now()


def executing_eagerly_outside_functions() -> bool:
    return not _state.default_graph_on[0]


def disable_v2_behavior() -> None:
    """TensorFlow 1's behaviour, which here is its graphs."""
    disable_eager_execution()


def enable_v2_behavior() -> None:
    enable_eager_execution()


def disable_v2_tensorshape() -> None:
    from ..._errors import unsupported

    unsupported("tf.compat.v1.disable_v2_tensorshape", way="use x.shape[0] as a number")


def enable_resource_variables() -> None:
    """Variables are resource variables here."""


def resource_variables_enabled() -> bool:
    return True


def disable_resource_variables() -> None:
    from ..._errors import unsupported

    unsupported("tf.compat.v1.disable_resource_variables")


def tables_initializer(name: str = "init_all_tables") -> Any:
    """Nothing to do: tables have their entries from the start."""
    from ..._control import group

    return group(name=name)


def add_to_collections(names: Any, value: Any) -> None:
    for each in [names] if isinstance(names, str) else names:
        add_to_collection(each, value)


def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
    return ref.scatter_nd_update(expand_dims(indices, -1), updates)


def get_default_graph() -> Graph:
    return default_graph()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    for package in (__name__, __name__.rpartition(".compat.")[0]):
        if name in _MODULES:
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
    if name == "newaxis":
        return None
    found = _old_names.find(name)
    found = found if found is not None else _names.find(name)
    if found is None:
        _names.missing(f"tf.compat.v1.{name}", [*__all__, *_names.all_names(), *_old_names.names()])
    return found


__all__ = [
    "AUTO_REUSE", "ConfigProto", "GPUOptions", "Graph", "GraphKeys", "GraphOptions",
    "InteractiveSession", "OptimizerOptions", "RunOptions", "Session", "Variable", "add_to_collection", "add_to_collections",
    "all_variables", "arg_max", "arg_min", "assert_global_step", "assign", "assign_add", "assign_sub",
    "colocate_with", "constant_initializer", "control_dependencies", "convert_to_tensor_or_sparse_tensor",
    "count_nonzero", "disable_eager_execution", "disable_resource_variables", "disable_v2_behavior",
    "disable_v2_tensorshape", "div", "enable_eager_execution", "enable_resource_variables",
    "enable_v2_behavior", "executing_eagerly", "executing_eagerly_outside_functions", "expand_dims",
    "get_collection", "get_collection_ref", "get_default_graph", "get_default_session",
    "get_local_variable", "get_seed", "get_variable", "get_variable_scope", "global_variables",
    "global_variables_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
    "gradients", "initialize_all_variables", "initialize_variables", "initializers",
    "is_variable_initialized", "local_variables", "local_variables_initializer", "log", "losses",
    "model_variables", "multinomial", "no_regularizer", "ones_initializer", "placeholder",
    "placeholder_with_default", "random_normal", "random_normal_initializer", "random_shuffle",
    "random_uniform", "random_uniform_initializer", "reduce_all", "reduce_any", "reduce_logsumexp",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
    "report_uninitialized_variables", "reset_default_graph", "resource_variables_enabled",
    "scatter_update", "set_random_seed", "squeeze", "tables_initializer", "to_double", "to_float", "to_int32", "to_int64", "trainable_variables",
    "truncated_normal", "truncated_normal_initializer", "variable_scope", "variables_initializer",
    "zeros_initializer",
]
