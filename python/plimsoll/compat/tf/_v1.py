"""What tf.compat.v1 has besides: placeholders, collections, variable scopes, old names."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from . import _arrays, _dtypes, _math, _random, _reduce
from ._control import group
from ._convert import convert_to_tensor
from ._dtypes import as_dtype
from ._errors import unsupported
from ._graph import default_graph, graph_mode
from ._operators import truediv
from ._shape import TensorShape
from ._symbolic import record, symbolic_input
from ._tensor import Tensor
from ._variable import Variable


class GraphKeys:
    GLOBAL_VARIABLES = "variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    LOCAL_VARIABLES = "local_variables"
    MODEL_VARIABLES = "model_variables"
    LOSSES = "losses"
    REGULARIZATION_LOSSES = "regularization_losses"
    UPDATE_OPS = "update_ops"
    SUMMARIES = "summaries"
    GLOBAL_STEP = "global_step"


class GPUOptions:
    """How much of the device's memory a session may take."""

    def __init__(self, per_process_gpu_memory_fraction: float | None = None, allow_growth: bool = False, visible_device_list: str = "", **others: Any) -> None:
        if others:
            unsupported("tf.compat.v1.GPUOptions", ", ".join(others))
        self.per_process_gpu_memory_fraction = per_process_gpu_memory_fraction
        self.allow_growth, self.visible_device_list = allow_growth, visible_device_list


class OptimizerOptions:
    def __init__(self, **options: Any) -> None:
        self.global_jit_level = options.pop("global_jit_level", 0)
        if options:
            unsupported("tf.compat.v1.OptimizerOptions", ", ".join(options))


class GraphOptions:
    def __init__(self, optimizer_options: Any = None, **others: Any) -> None:
        self.optimizer_options = optimizer_options or OptimizerOptions()
        if others:
            unsupported("tf.compat.v1.GraphOptions", ", ".join(others))


class RunOptions:
    """Options of Session.run. Who holds the memory is in every out-of-memory error, so that
    report_tensor_allocations_upon_oom has nothing to turn on."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = range(4)

    def __init__(
        self, trace_level: int = 0, timeout_in_ms: int = 0, report_tensor_allocations_upon_oom: bool = False, **others: Any
    ) -> None:
        if trace_level or timeout_in_ms or others:
            unsupported("tf.compat.v1.RunOptions", ", ".join(
                [*(["trace_level"] if trace_level else []), *(["timeout_in_ms"] if timeout_in_ms else []), *others]),
                "tf.profiler.experimental.start records runs")
        self.report_tensor_allocations_upon_oom = report_tensor_allocations_upon_oom


class ConfigProto:
    """A session's configuration: gpu_options limit its memory, on the CPU as well."""

    def __init__(
        self, gpu_options: GPUOptions | None = None, allow_soft_placement: bool = True,
        log_device_placement: bool = False, device_count: Any = None,
        intra_op_parallelism_threads: int = 0, inter_op_parallelism_threads: int = 0,
        graph_options: Any = None, **others: Any,
    ) -> None:
        if others:
            unsupported("tf.compat.v1.ConfigProto", ", ".join(others))
        self.gpu_options = gpu_options or GPUOptions()
        self.allow_soft_placement, self.log_device_placement = allow_soft_placement, log_device_placement
        self.device_count = device_count or {}
        self.intra_op_parallelism_threads = intra_op_parallelism_threads
        self.inter_op_parallelism_threads = inter_op_parallelism_threads
        self.graph_options = graph_options or GraphOptions()

    def memory_limit(self) -> float | None:
        """The share of the device that the session may take; also applies the rest of it."""
        if self.intra_op_parallelism_threads:
            import plimsoll as pm

            pm.set_compute_threads(self.intra_op_parallelism_threads)
        if self.log_device_placement:
            from ._state import log_placement

            log_placement[0] = True
        share = self.gpu_options.per_process_gpu_memory_fraction
        return None if share is None else min(float(share), 1.0)


class _AutoReuse:
    def __repr__(self) -> str:
        return "AUTO_REUSE"


AUTO_REUSE = _AutoReuse()


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor that is fed when the graph is run; extents may be None."""
    if not graph_mode():
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    if shape is None:  # fed with whatever it is then; what follows from it in the graph has the shapes of a scalar
        made: Tensor = symbolic_input((), dtype, name or "Placeholder")
        made._value.node.shape = TensorShape(None)
        return made
    return symbolic_input(shape, dtype, name or "Placeholder")  # type: ignore[no-any-return]


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Any:
    """A value that a feed may replace."""
    made = convert_to_tensor(input)
    return record(_same, (made,), {}, name or "PlaceholderWithDefault")


def _same(x: Any) -> Any:
    from ._control import identity

    return identity(x)


# -- collections and variables ---------------------------------------------------------------------


def add_to_collection(name: str, value: Any) -> None:
    default_graph().add_to_collection(name, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    return default_graph().get_collection(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    return default_graph().get_collection_ref(key)


def global_variables(scope: str | None = None) -> list[Any]:
    return get_collection("variables", scope)


all_variables = global_variables


def trainable_variables(scope: str | None = None) -> list[Any]:
    return get_collection("trainable_variables", scope)


def local_variables(scope: str | None = None) -> list[Any]:
    return get_collection("local_variables", scope)


def model_variables(scope: str | None = None) -> list[Any]:
    return get_collection("model_variables", scope)


def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """An op that gives variables their first values."""
    if not graph_mode():
        return None
    return group(*(each.initializer for each in var_list), name=name)


initialize_variables = variables_initializer


def global_variables_initializer() -> Any:
    return variables_initializer(global_variables())


initialize_all_variables = global_variables_initializer


def local_variables_initializer() -> Any:
    return variables_initializer(local_variables())


def report_uninitialized_variables(var_list: Any = None, name: str = "x") -> Any:
    unsupported("tf.compat.v1.report_uninitialized_variables", way="run global_variables_initializer()")


def is_variable_initialized(variable: Any) -> Any:
    unsupported("tf.compat.v1.is_variable_initialized", way="run global_variables_initializer()")


class VariableScope:
    """Names of variables begin with it; its variables may be shared."""

    def __init__(self, name: str, reuse: Any, initializer: Any, regularizer: Any = None, dtype: Any = None) -> None:
        self.name, self.reuse, self.initializer, self.dtype = name, reuse, initializer, dtype
        self.regularizer = regularizer
        self.original_name_scope = f"{name}/"

    def reuse_variables(self) -> None:
        self.reuse = True

    def global_variables(self) -> list[Any]:
        return global_variables(self.name)

    def trainable_variables(self) -> list[Any]:
        return trainable_variables(self.name)


_ROOT = VariableScope("", False, None)


def get_variable_scope() -> VariableScope:
    scopes = default_graph().variable_scopes
    return scopes[-1] if scopes else _ROOT


@contextlib.contextmanager
def variable_scope(
    name_or_scope: Any, default_name: str | None = None, values: Any = None, initializer: Any = None,
    regularizer: Any = None, caching_device: Any = None, partitioner: Any = None,
    custom_getter: Any = None, reuse: Any = None, dtype: Any = None, use_resource: Any = None,
    constraint: Any = None, auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """A prefix of the names that get_variable() makes."""
    if partitioner is not None or custom_getter is not None:
        unsupported("tf.compat.v1.variable_scope", "partitioner, custom_getter")
    graph, outer = default_graph(), get_variable_scope()
    if isinstance(name_or_scope, VariableScope):
        full, short = name_or_scope.name, name_or_scope.name.rsplit("/", 1)[-1]
        outer = name_or_scope
    else:
        short = name_or_scope or _unused(graph, outer.name, default_name or "scope")
        full = f"{outer.name}/{short}" if outer.name else short
    made = VariableScope(full, outer.reuse if reuse is None else reuse, initializer or outer.initializer, regularizer or outer.regularizer)
    graph.variable_scopes.append(made)
    graph.enter_scope(short)
    try:
        yield made
    finally:
        graph.exit_scope()
        graph.variable_scopes.pop()


def _unused(graph: Any, outer: str, name: str) -> str:
    taken = {each.split("/")[len(outer.split("/")) if outer else 0] for each in graph.variables if "/" in each}
    count = 0
    while (name if count == 0 else f"{name}_{count}") in taken:
        count += 1
    return name if count == 0 else f"{name}_{count}"


def get_variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
    trainable: bool | None = None, collections: Any = None, caching_device: Any = None,
    partitioner: Any = None, validate_shape: bool = True, use_resource: Any = None,
    custom_getter: Any = None, constraint: Any = None, synchronization: Any = None, aggregation: Any = None,
) -> Variable:
    """The variable of this name in the scope; made where the scope does not reuse."""
    graph, scope = default_graph(), get_variable_scope()
    full = f"{scope.name}/{name}" if scope.name else name
    found = graph.variables.get(full)
    if scope.reuse is True and found is None:
        raise ValueError(f"Variable {full} does not exist, or was not created with tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE in VarScope?")
    if found is not None:
        if scope.reuse is False or scope.reuse is None:
            raise ValueError(f"Variable {full} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?")
        if shape is not None and not found.shape.is_compatible_with(shape):
            raise ValueError(f"Trying to share variable {full}, but specified shape {shape} and found shape {found.shape}.")
        return found  # type: ignore[no-any-return]
    made = _new(f"/{full}" if graph_mode() else full, shape, dtype, scope.initializer if initializer is None else initializer, trainable, collections)
    graph.variables[full] = made
    decay = regularizer or scope.regularizer
    if decay is not None:
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, decay(made))
    return made


def _new(name: str, shape: Any, dtype: Any, initializer: Any, trainable: Any, collections: Any) -> Variable:
    kind = as_dtype(dtype or _dtypes.float32)
    if initializer is None:
        initializer = _random.glorot_uniform_initializer() if kind.is_floating else _random.zeros_initializer()
    if isinstance(initializer, type):
        initializer = initializer()
    if callable(initializer):
        if shape is None:
            raise ValueError(f"The initializer passed is not valid, or the shape of a new variable ({name.lstrip('/')}) must be fully defined, but instead was None.")
        dims = TensorShape(shape).as_list()
        return Variable(lambda: initializer(dims, dtype=kind), trainable=trainable, name=name, dtype=kind, collections=collections)
    return Variable(initializer, trainable=trainable, name=name, dtype=dtype, collections=collections)


def get_local_variable(name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, **others: Any) -> Variable:
    return get_variable(name, shape, dtype, initializer, trainable=False, collections=["local_variables"])


def assign(ref: Any, value: Any, validate_shape: Any = None, use_locking: Any = None, name: Any = None) -> Any:
    return ref.assign(value)


def assign_add(ref: Any, value: Any, use_locking: Any = None, name: Any = None) -> Any:
    return ref.assign_add(value)


def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: Any = None) -> Any:
    return ref.assign_sub(value)


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    from ._control import control_dependencies as after

    with after(control_inputs):
        yield


@contextlib.contextmanager
def colocate_with(op: Any, ignore_existing: bool = False) -> Iterator[None]:
    yield


def set_random_seed(seed: int) -> None:
    default_graph().seed = seed
    _random.set_seed(seed)


def get_seed(op_seed: Any) -> Any:
    return default_graph().seed, op_seed


def assert_global_step(tensor: Any) -> None:
    if not as_dtype(tensor.dtype).is_integer:
        raise TypeError(f"Existing \"global_step\" does not have integer type: {tensor.dtype}")


def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: Any = None) -> Any:
    return convert_to_tensor(value, dtype)


def no_regularizer(_: Any) -> None:
    """No regularization."""


# -- old names of functions ------------------------------------------------------------------------


def _old(f: Any) -> Any:
    """A reduction under its old arguments: keep_dims, reduction_indices."""
    def call(input_tensor: Any, axis: Any = None, keepdims: Any = None, name: Any = None, reduction_indices: Any = None, keep_dims: Any = None) -> Any:
        over = axis if reduction_indices is None else reduction_indices
        return f(input_tensor, over, bool(keepdims if keep_dims is None else keep_dims), name=name)

    call.__name__ = f.__name__
    return call


reduce_sum, reduce_mean, reduce_max = _old(_reduce.reduce_sum), _old(_reduce.reduce_mean), _old(_reduce.reduce_max)
reduce_min, reduce_prod = _old(_reduce.reduce_min), _old(_reduce.reduce_prod)
reduce_all, reduce_any = _old(_reduce.reduce_all), _old(_reduce.reduce_any)
reduce_logsumexp = _old(_reduce.reduce_logsumexp)
count_nonzero = _reduce.count_nonzero
log = _math.log
random_normal, random_uniform, truncated_normal = _random.normal, _random.uniform, _random.truncated_normal
random_shuffle = _random.shuffle


def multinomial(logits: Any, num_samples: Any, seed: Any = None, name: Any = None, output_dtype: Any = None) -> Any:
    return _random.categorical(logits, num_samples, output_dtype)


def arg_max(input: Any, dimension: Any = None, output_type: Any = _dtypes.int64, name: Any = None, axis: Any = None) -> Any:
    return _math.argmax(input, axis if dimension is None else dimension, output_type)


def arg_min(input: Any, dimension: Any = None, output_type: Any = _dtypes.int64, name: Any = None, axis: Any = None) -> Any:
    return _math.argmin(input, axis if dimension is None else dimension, output_type)


def div(x: Any, y: Any, name: Any = None) -> Any:
    """x / y; of integers, rounded down."""
    from ._operators import floordiv

    made = convert_to_tensor(x)
    return floordiv(made, y) if made.dtype.is_integer else truediv(made, y)


def expand_dims(input: Any, axis: Any = None, name: Any = None, dim: Any = None) -> Any:
    return _arrays.expand_dims(input, axis if dim is None else dim, name=name)


def squeeze(input: Any, axis: Any = None, name: Any = None, squeeze_dims: Any = None) -> Any:
    return _arrays.squeeze(input, axis if squeeze_dims is None else squeeze_dims, name=name)


def to_float(x: Any, name: str = "ToFloat") -> Any:
    return _math.cast(x, _dtypes.float32)


def to_double(x: Any, name: str = "ToDouble") -> Any:
    return _math.cast(x, _dtypes.float64)


def to_int32(x: Any, name: str = "ToInt32") -> Any:
    return _math.cast(x, _dtypes.int32)


def to_int64(x: Any, name: str = "ToInt64") -> Any:
    return _math.cast(x, _dtypes.int64)


class initializers:
    """tf.compat.v1.initializers."""

    zeros = _random.zeros_initializer
    ones = _random.ones_initializer
    constant = _random.constant_initializer
    random_normal = _random.random_normal_initializer
    random_uniform = _random.random_uniform_initializer
    truncated_normal = _random.truncated_normal_initializer
    glorot_uniform = _random.glorot_uniform_initializer
    glorot_normal = _random.glorot_normal_initializer
    global_variables = staticmethod(global_variables_initializer)
    variables = staticmethod(variables_initializer)


class losses:
    """tf.compat.v1.losses: means over the batch, which are collected."""

    @staticmethod
    def _collected(loss: Any) -> Any:
        if graph_mode():
            add_to_collection(GraphKeys.LOSSES, loss)
        return loss

    @staticmethod
    def mean_squared_error(labels: Any, predictions: Any, weights: Any = 1.0, **others: Any) -> Any:
        found = _math.squared_difference(predictions, labels)
        return losses._collected(_reduce.reduce_mean(found * weights if weights != 1.0 else found))

    @staticmethod
    def absolute_difference(labels: Any, predictions: Any, weights: Any = 1.0, **others: Any) -> Any:
        from ._operators import abs as size, subtract

        found = size(subtract(predictions, labels))
        return losses._collected(_reduce.reduce_mean(found * weights if weights != 1.0 else found))

    @staticmethod
    def softmax_cross_entropy(onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, **others: Any) -> Any:
        from ._nn import softmax_cross_entropy_with_logits

        if label_smoothing:
            unsupported("tf.compat.v1.losses.softmax_cross_entropy", "label_smoothing", "smooth the labels")
        labels = _math.cast(onehot_labels, logits.dtype)
        return losses._collected(_reduce.reduce_mean(softmax_cross_entropy_with_logits(labels, logits) * weights))

    @staticmethod
    def sparse_softmax_cross_entropy(labels: Any, logits: Any, weights: Any = 1.0, **others: Any) -> Any:
        from ._nn import sparse_softmax_cross_entropy_with_logits

        return losses._collected(_reduce.reduce_mean(sparse_softmax_cross_entropy_with_logits(labels, logits) * weights))

    @staticmethod
    def sigmoid_cross_entropy(multi_class_labels: Any, logits: Any, weights: Any = 1.0, **others: Any) -> Any:
        from ._nn import sigmoid_cross_entropy_with_logits

        labels = _math.cast(multi_class_labels, logits.dtype)
        return losses._collected(_reduce.reduce_mean(sigmoid_cross_entropy_with_logits(labels, logits) * weights))

    @staticmethod
    def get_losses(scope: Any = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
        return get_collection(loss_collection, None)

    @staticmethod
    def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: Any = None) -> Any:
        found = get_collection(GraphKeys.LOSSES)
        if add_regularization_losses:
            found = found + get_collection(GraphKeys.REGULARIZATION_LOSSES)
        return _math.add_n(found)
