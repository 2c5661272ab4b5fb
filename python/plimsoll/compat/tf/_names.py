"""Which of the package's files has which of tf's own names."""

from __future__ import annotations

import difflib
import importlib
from typing import Any, NoReturn

_FILES = {
    "_tensor": "Tensor TensorSpec",
    "_shape": "TensorShape",
    "_dtypes": "DType as_dtype float16 float32 float64 bfloat16 half double int8 int16 int32 int64 uint8 "
    "uint16 uint32 uint64 string complex64 complex128 resource variant bool=bool_",
    "_convert": "constant convert_to_tensor",
    "_variable": "Variable VariableAggregation VariableSynchronization",
    "_tape": "GradientTape gradients stop_gradient UnconnectedGradients hessians",
    "_custom": "custom_gradient grad_pass_through",
    "_function": "function py_function numpy_function no_gradient recompute_grad",
    "_control": "cond while_loop map_fn switch_case case scan foldl foldr vectorized_map TensorArray "
    "group identity identity_n no_op control_dependencies print Assert name_scope init_scope "
    "ensure_shape get_static_value is_tensor is_symbolic_tensor executing_eagerly device "
    "Module",
    "_graph": "Graph Operation",
    "_create": "zeros ones fill zeros_like ones_like range eye linspace",
    "_select": "sequence_mask one_hot boolean_mask unique unique_with_counts sort argsort searchsorted bitcast",
    "_special": "asin acos atan atan2 sinh cosh asinh acosh atanh",
    "_arrays": "shape shape_n size rank reshape "
    "transpose expand_dims squeeze concat stack unstack split tile repeat pad reverse roll "
    "broadcast_to broadcast_static_shape broadcast_dynamic_shape meshgrid where",
    "_indexing": "slice=slice_ strided_slice",
    "_gather": "gather gather_nd scatter_nd tensor_scatter_nd_update tensor_scatter_nd_add "
    "tensor_scatter_nd_sub tensor_scatter_nd_max tensor_scatter_nd_min dynamic_partition dynamic_stitch",
    "_operators": "add subtract multiply divide truediv floordiv=floordiv negative sign square sqrt "
    "exp pow maximum minimum equal not_equal less less_equal greater greater_equal logical_and "
    "logical_or logical_not matmul",
    "_complex": "abs complex",
    "_math": "cast add_n round floor sin cos tan tanh "
    "sigmoid cumsum argmax argmin clip_by_value scalar_mul tensordot einsum saturate_cast "
    "truncatediv truncatemod realdiv",
    "_reduce": "reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_all reduce_any "
    "reduce_logsumexp norm clip_by_norm clip_by_global_norm",
    "_ragged": "RaggedTensor RaggedTensorSpec IndexedSlices SparseTensor SparseTensorSpec",
    "_random": "random_normal_initializer random_uniform_initializer zeros_initializer ones_initializer "
    "constant_initializer",
    "_load": "load_library load_op_library",
    "_log": "get_logger",
    "_old_ops": "histogram_fixed_width reverse_sequence timestamp tuple unravel_index",
    "debugging": "assert_equal assert_greater assert_less assert_rank",
    "strings": "as_string",
}
_WHERE = {
    (each.split("=")[0]): (file, each.split("=")[-1])
    for file, names in _FILES.items() for each in names.split()
}


# What to do instead, for names that scripts use and no other name here is like.
_WAYS = {
    "tf.autodiff": "use tf.GradientTape, and tape.jacobian",
    "tf.compat.v1.RunMetadata": "use tf.profiler.experimental.start(folder)",
    "tf.compat.v1.estimator": "use tf.keras.Model.fit",
    "tf.compat.v1.layers": "use tf.keras.layers, or tf.matmul and tf.nn in graphs",
    "tf.compat.v1.saved_model": "use tf.compat.v1.train.Saver",
    "tf.contrib": "it ended with TensorFlow 1",
    "tf.debugging.enable_check_numerics": "use tf.debugging.check_numerics(x, message) in eager code, or "
    "tf.keras.callbacks.TerminateOnNaN()",
    "tf.debugging.disable_check_numerics": "nothing is checked unless tf.debugging.check_numerics is called",
    "tf.estimator": "use tf.keras.Model.fit",
    "tf.feature_column": "use preprocessing layers: tf.keras.layers.StringLookup, Discretization, CategoryEncoding",
    "tf.lite": "the model's weights go to other programs with model.save_weights('model.safetensors')",
    "tf.raw_ops": "use the function of tf that calls it",
    "tf.saved_model": "use model.save('model.keras'), or tf.train.Checkpoint",
    "tf.sets": "use Python's sets, or NumPy's union1d and intersect1d on x.numpy()",
    "tf.tpu": "there are CPUs and GPUs here",
}


class Unsupported(NotImplementedError, AttributeError):
    """A name that is not here: hasattr() says no, and using it names the nearest way."""


class Version:
    VERSION = "2.21.0"
    GIT_VERSION = "plimsoll"
    COMPILER_VERSION = "plimsoll"


def find(name: str) -> Any:
    """What is public as tf.<name>, or None."""
    where = _WHERE.get(name)
    if where is None:
        return None
    try:
        module = importlib.import_module(f"{__package__}.{where[0]}")
    except ModuleNotFoundError as error:
        if error.name != f"{__package__}.{where[0]}":
            raise
        return None
    return getattr(module, where[1], None)


def all_names() -> list[str]:
    return [name for name in _WHERE if find(name) is not None]


def absent(name: str, way: str) -> NoReturn:
    """For a module's __getattr__: refuses `name` of tf, and says what to do instead."""
    raise Unsupported(f"{name} is not supported by plimsoll.compat.tf; {way}")


def missing(name: str, names: list[str]) -> NoReturn:
    """For a module's __getattr__: refuses `name` of tf, and says what is like it."""
    short = name.rsplit(".", 1)[-1]
    close = difflib.get_close_matches(short, [each for each in names if each != short], n=1, cutoff=0.75)
    way = _WAYS.get(name)
    if way is None and name == f"tf.{short}":
        v1 = importlib.import_module(f"{__package__}.compat.v1")
        way = f"it is TensorFlow 1's: tf.compat.v1.{short}" if short in v1.__all__ else None
    hint = f"; {way}" if way else f"; there is {close[0]}" if close else ""
    raise Unsupported(f"{name} is not supported by plimsoll.compat.tf{hint}")
