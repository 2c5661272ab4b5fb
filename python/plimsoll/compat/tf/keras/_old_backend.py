"""Functions of keras.backend that old layers and losses use, written in tf's."""

from __future__ import annotations

from typing import Any


def _tf() -> Any:
    import plimsoll.compat.tf as tf

    return tf


def arange(start: Any, stop: Any = None, step: int = 1, dtype: str = "int32") -> Any:
    return _tf().range(start, stop, step, dtype) if stop is not None else _tf().range(0, start, step, dtype)


def argmax(x: Any, axis: int = -1) -> Any:
    return _tf().argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Any:
    return _tf().argmin(x, axis)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """For each element, unlike the loss of that name."""
    from ._base import epsilon

    tf, least = _tf(), epsilon()
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(target, output.dtype), logits=output)
    output = tf.clip_by_value(tf.convert_to_tensor(output), least, 1.0 - least)
    target = tf.cast(target, output.dtype)
    return -(target * tf.math.log(output + least) + (1.0 - target) * tf.math.log(1.0 - output + least))


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    """Products of the rows of two batches along one dimension of each."""
    from .layers import Dot

    a, b = (axes, axes) if isinstance(axes, int) else axes if axes is not None else (len(x.shape) - 1, max(len(y.shape) - 2, 1))
    return Dot(axes=(a, b))([x, y])


def batch_flatten(x: Any) -> Any:
    return _tf().reshape(x, [_tf().shape(x)[0], -1])


def bias_add(x: Any, bias: Any, data_format: Any = None) -> Any:
    return x + bias


def cast_to_floatx(x: Any) -> Any:
    from ._base import floatx

    return _tf().cast(x, floatx())


def concatenate(tensors: Any, axis: int = -1) -> Any:
    return _tf().concat(tensors, axis)


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Any:
    """Of probabilities, with the last class as the blank and lengths [n, 1]: [n, 1]."""
    from ._base import epsilon

    tf = _tf()
    logits = tf.math.log(y_pred + epsilon())
    losses = tf.nn.ctc_loss(y_true, logits, tf.reshape(label_length, [-1]), tf.reshape(input_length, [-1]),
                            logits_time_major=False, blank_index=-1)
    return tf.expand_dims(losses, 1)


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """A variable, of floats unless it says otherwise."""
    from ._base import floatx

    return _tf().Variable(value, dtype=dtype or floatx(), name=name, constraint=constraint)


def dropout(x: Any, level: float, noise_shape: Any = None, seed: Any = None) -> Any:
    return _tf().nn.dropout(x, level, noise_shape)


def dtype(x: Any) -> str:
    return str(getattr(x.dtype, "name", x.dtype))


def eval(x: Any) -> Any:
    return x.numpy() if hasattr(x, "numpy") else x


def expand_dims(x: Any, axis: int = -1) -> Any:
    return _tf().expand_dims(x, axis)


def flatten(x: Any) -> Any:
    return _tf().reshape(x, [-1])


def gradients(loss: Any, variables: Any) -> Any:
    return _tf().gradients(loss, variables)


def in_top_k(predictions: Any, targets: Any, k: int) -> Any:
    return _tf().math.in_top_k(targets, predictions, k)


def l2_normalize(x: Any, axis: Any = None) -> Any:
    return _tf().linalg.l2_normalize(x, axis)


def name_scope(name: str) -> Any:
    return _tf().name_scope(name)


def ndim(x: Any) -> int:
    return len(x.shape)


def permute_dimensions(x: Any, pattern: Any) -> Any:
    return _tf().transpose(x, pattern)


def repeat(x: Any, n: int) -> Any:
    return _tf().tile(_tf().expand_dims(x, 1), [1, n, 1])


def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    return _tf().repeat(x, rep, axis)


def resize_images(x: Any, height_factor: int, width_factor: int, data_format: Any = None, interpolation: str = "nearest") -> Any:
    from .layers import UpSampling2D

    return UpSampling2D((height_factor, width_factor), data_format=data_format, interpolation=interpolation)(x)


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    if callable(then_expression):
        return _tf().cond(condition, then_expression, else_expression)
    return _tf().where(condition, then_expression, else_expression)


def update(x: Any, new_x: Any) -> Any:
    return x.assign(new_x)


def update_add(x: Any, increment: Any) -> Any:
    return x.assign_add(increment)


def update_sub(x: Any, decrement: Any) -> Any:
    return x.assign_sub(decrement)


_sessions: list[Any] = []


def set_session(session: Any) -> None:
    """Keeps a session of TensorFlow 1, whose limits hold since it was made; models do not run in it."""
    _sessions[:] = [session]


def get_session(op_input_list: Any = ()) -> Any:
    """The session of set_session(), or a new one."""
    if not _sessions:
        _sessions.append(_tf().compat.v1.Session())
    return _sessions[0]
