"""What networks are made of: activations, convolutions (channels last), pooling, losses."""

from __future__ import annotations

import math
from typing import Any, Callable

import plimsoll as pm

from ._convert import tensor
from ._dispatch import ints, op, static_value
from ._errors import InvalidArgumentError, unsupported
from ._math import _axis
from ._operators import FLOATS, pair, unary
from ._reduce import axes_of
from ._state import state
from ._variable import looked_up


def _floats(x: Any, who: str) -> Any:
    value = tensor(x)
    if value.dtype not in FLOATS:
        raise InvalidArgumentError(None, None, f"Value for attr 'T' of {value.dtype.name} is not in the list of allowed values [Op:{who}]")
    return value


relu = unary("nn.relu", lambda x: pm.relu(x) if x.dtype in FLOATS else pm.maximum(x, 0), pm.bool_, whole=True)
relu6 = unary("nn.relu6", lambda x: pm.clip(x, 0, 6), pm.bool_, whole=True)
elu = unary("nn.elu", lambda x: pm.elu(x))


def _selu(x: Any) -> Any:
    return 1.0507009873554805 * pm.elu(x, 1.6732632423543772)


selu = unary("nn.selu", _selu)


@op(name="nn.leaky_relu")
def leaky_relu(features: Any, alpha: Any = 0.2) -> Any:
    x = tensor(features)
    if x.dtype not in FLOATS:
        x = pm.cast(x, pm.f32)
    return pm.leaky_relu(x, float(static_value(alpha)))


@op(name="nn.gelu")
def gelu(features: Any, approximate: bool = False) -> Any:
    return pm.gelu(_floats(features, "Gelu"), approximate=bool(approximate))


@op(name="nn.silu")
def silu(features: Any, beta: Any = 1.0) -> Any:
    x = _floats(features, "Silu")
    return pm.silu(x) if isinstance(beta, (int, float)) and beta == 1 else x * pm.sigmoid(x * beta)


swish = silu


@op(name="nn.crelu")
def crelu(features: Any, axis: Any = -1) -> Any:
    x = tensor(features)
    return pm.relu(pm.concat([x, -x], axis=int(axis)))


@op(name="nn.softmax")
def softmax(logits: Any, axis: Any = None) -> Any:
    x = _floats(logits, "Softmax")
    if not len(x.shape):
        raise InvalidArgumentError(None, None, "logits must have >= 1 dimension, got 0 [Op:Softmax]")
    return pm.softmax(x, _axis(-1 if axis is None else axis, len(x.shape)))


@op(name="nn.log_softmax")
def log_softmax(logits: Any, axis: Any = None) -> Any:
    x = _floats(logits, "LogSoftmax")
    return pm.log_softmax(x, _axis(-1 if axis is None else axis, len(x.shape)))


@op(name="nn.bias_add")
def bias_add(value: Any, bias: Any, data_format: Any = None) -> Any:
    x, b = pair(value, bias, "BiasAdd", numbers=False)
    if len(b.shape) != 1:
        raise InvalidArgumentError(None, None, f"Biases must be 1D: {list(b.shape)}")
    if data_format is not None and str(data_format).startswith("NC"):
        b = pm.reshape(b, [b.shape[0], *([1] * (len(x.shape) - 2))])
    elif x.shape[-1] != b.shape[0]:
        raise InvalidArgumentError(None, None, f"Must provide as many biases as the last dimension of the input tensor: {list(b.shape)} vs. {list(x.shape)}")
    return x + b


def _flattened(x: Any) -> Any:
    return pm.reshape(x, [math.prod(x.shape[:-1]), x.shape[-1]])


@op(name="nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None) -> Any:
    x, wanted = _floats(logits, "SparseSoftmaxCrossEntropyWithLogits"), tensor(labels)
    if list(wanted.shape) != list(x.shape[:-1]):
        raise ValueError(f"`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape={tuple(wanted.shape)} and logits.shape={tuple(x.shape)}")
    if wanted.dtype in FLOATS:
        raise InvalidArgumentError(None, None, "labels must be integers")
    hot = pm.one_hot(wanted if wanted.dtype in (pm.i32, pm.i64) else pm.cast(wanted, pm.i32), x.shape[-1], x.dtype)
    return -pm.sum(hot * pm.log_softmax(x, -1), axis=-1)


@op(name="nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, axis: Any = -1) -> Any:
    x = _floats(logits, "SoftmaxCrossEntropyWithLogits")
    wanted, x = pair(labels, x, "SoftmaxCrossEntropyWithLogits", numbers=False)
    along = _axis(axis, len(x.shape))
    return -pm.sum(wanted * pm.log_softmax(x, along), axis=along)


@op(name="nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None) -> Any:
    z, x = pair(labels, tensor(logits), "logistic_loss", numbers=False)
    if tuple(z.shape) != tuple(x.shape):
        raise ValueError(f"`logits` and `labels` must have the same shape, received ({tuple(x.shape)} vs {tuple(z.shape)}).")
    return pm.softplus(x) - x * z


@op(name="nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(labels: Any = None, logits: Any = None, pos_weight: Any = None) -> Any:
    z, x = pair(labels, tensor(logits), "logistic_loss", numbers=False)
    weight = 1 + (tensor(pos_weight, like=x) - 1) * z
    return (1 - z) * x + weight * pm.softplus(-x)


@op(name="nn.l2_loss")
def l2_loss(t: Any) -> Any:
    return pm.sum(pm.square(_floats(t, "L2Loss"))) * 0.5


@op(name="nn.log_poisson_loss")
def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False) -> Any:
    z, x = pair(targets, log_input, "log_poisson_loss", numbers=False)
    if compute_full_loss:
        unsupported("tf.nn.log_poisson_loss", "compute_full_loss")
    return pm.exp(x) - x * z


@op(name="nn.moments")
def moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False) -> Any:
    from ._results import Moments

    value = tensor(x)
    over = axes_of(axes, len(value.shape))
    return Moments(
        pm.mean(value, axis=over, keepdims=bool(keepdims)), pm.variance(value, axis=over, keepdims=bool(keepdims))
    )


@op(name="nn.batch_normalization")
def batch_normalization(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any) -> Any:
    value = tensor(x)
    factor = pm.rsqrt(tensor(variance, like=value) + float(static_value(variance_epsilon)))
    if scale is not None:
        factor = factor * tensor(scale, like=value)
    shift = -tensor(mean, like=value) * factor
    if offset is not None:
        shift = shift + tensor(offset, like=value)
    return value * factor + shift


@op(name="nn.dropout", fold=False)
def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None) -> Any:
    value = tensor(x)
    if isinstance(rate, pm.Tensor) and rate.is_symbolic:  # a placeholder: drawn by a share that is not known yet
        kept = pm.random_uniform(list(value.shape), dtype=pm.f32) >= pm.cast(rate, pm.f32)
        return pm.where(kept, value / pm.cast(1.0 - rate, value.dtype), 0)
    share = static_value(rate)
    if not 0 <= share < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={share}")
    if noise_shape is not None:
        shape = [n if each in (None, -1) else each for each, n in zip(static_value(noise_shape), value.shape)]
        kept = pm.random_uniform(shape, dtype=pm.f32) >= share
        return pm.where(pm.broadcast_to(kept, list(value.shape)), value / (1 - share), 0)
    return pm.dropout(value, float(share)) if share else value


def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: str | None = None) -> Any:
    """Rows of a table."""
    found = _embedding_lookup(params, ids, max_norm, name=name)
    table = params[0] if isinstance(params, (list, tuple)) and len(params) == 1 else params
    return found if state.inside else looked_up(table, ids, found)


@op(name="nn.embedding_lookup")
def _embedding_lookup(params: Any, ids: Any, max_norm: Any = None) -> Any:
    if max_norm is not None:
        unsupported("tf.nn.embedding_lookup", "max_norm", "tf.clip_by_norm on the result")
    at = tensor(ids)
    table = tensor(params[0] if isinstance(params, (list, tuple)) and len(params) == 1 else params)
    return pm.gather(table, at if at.dtype in (pm.i32, pm.i64) else pm.cast(at, pm.i32), axis=0)


def sides(padding: Any, size: list[int], kernel: list[int], stride: list[int], dilation: list[int]) -> list[tuple[int, int]]:
    """How much is padded before and after each spatial dimension."""
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return [(0, 0)] * len(size)
        if padding.upper() != "SAME":
            raise ValueError(f"padding must be 'SAME' or 'VALID', not {padding!r}")
        found = []
        for n, k, s, d in zip(size, kernel, stride, dilation):
            total = max((math.ceil(n / s) - 1) * s + (k - 1) * d + 1 - n, 0)
            found.append((total // 2, total - total // 2))
        return found
    given = static_value(padding)
    return [(int(a), int(b)) for a, b in (given[1:-1] if len(given) == len(size) + 2 else given)]


def spatial(value: Any, count: int, channels_last: bool = True) -> list[int]:
    """Strides, windows and dilations: one for each spatial dimension."""
    found = ints(value)
    if len(found) == 1:
        return found * count
    if len(found) == count + 2:
        return found[1:-1] if channels_last else found[2:]
    return found


def conv(x: Any, filters: Any, strides: Any, padding: Any, dilations: Any, groups: int | None = None) -> Any:
    """A convolution of [n, h, w, c] with [h, w, in, out]."""
    size, kernel = list(x.shape[1:3]), list(filters.shape[:2])
    stride, dilation = spatial(strides, 2), spatial(dilations if dilations is not None else 1, 2)
    around = sides(padding, size, kernel, stride, dilation)
    parts = x.shape[-1] // filters.shape[2] if groups is None else groups
    if filters.shape[2] == 0 or x.shape[-1] % filters.shape[2]:
        raise InvalidArgumentError(None, None, f"input depth must be evenly divisible by filter depth: {x.shape[-1]} vs {filters.shape[2]} [Op:Conv2D]")
    weight = pm.transpose(filters, [3, 2, 0, 1])
    return pm.conv2d(
        x, weight, stride=stride, padding=[around[0][0], around[0][1], around[1][0], around[1][1]],
        dilation=dilation, groups=parts, layout="channels_last",
    )


def _last(data_format: Any) -> bool:
    return data_format is None or not str(data_format).startswith("NC")


def _channels(f: Callable[[Any], Any], x: Any, data_format: Any, rank: int) -> Any:
    """`f` on channels last, whatever the format is."""
    if _last(data_format):
        return f(x)
    there = [0, *range(2, rank), 1]
    back = [0, rank - 1, *range(1, rank - 1)]
    return pm.transpose(f(pm.transpose(x, there)), back)


@op(name="nn.conv2d")
def conv2d(input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NHWC", dilations: Any = None) -> Any:
    x, w = pair(_floats(input, "Conv2D"), filters, "Conv2D", numbers=False)
    if len(x.shape) != 4:
        raise InvalidArgumentError(None, None, f"input must be 4-dimensional, not {list(x.shape)} [Op:Conv2D]")
    if not _last(data_format):
        strides = spatial(strides, 2, False)
    return _channels(lambda y: conv(y, w, strides, padding, dilations), x, data_format, 4)


@op(name="nn.conv1d")
def conv1d(input: Any, filters: Any, stride: Any, padding: Any, data_format: str = "NWC", dilations: Any = None) -> Any:
    x, w = pair(_floats(input, "Conv1D"), filters, "Conv1D", numbers=False)
    step = spatial(stride, 1)[0]
    apart = 1 if dilations is None else spatial(dilations, 1)[0]

    def one(y: Any) -> Any:
        wide = pm.reshape(y, [y.shape[0], 1, *y.shape[1:]])
        kernel = pm.reshape(w, [1, *w.shape])
        found = conv(wide, kernel, [1, step], padding, [1, apart])
        return pm.reshape(found, [found.shape[0], *found.shape[2:]])

    return _channels(one, x, data_format, 3)


@op(name="nn.depthwise_conv2d")
def depthwise_conv2d(input: Any, filter: Any, strides: Any, padding: Any, data_format: Any = None, dilations: Any = None) -> Any:
    x, w = pair(_floats(input, "DepthwiseConv2dNative"), filter, "DepthwiseConv2dNative", numbers=False)
    h, wide, channels, times = w.shape
    kernel = pm.reshape(w, [h, wide, 1, channels * times])
    return _channels(lambda y: conv(y, kernel, strides, padding, dilations, channels), x, data_format, 4)


@op(name="nn.separable_conv2d")
def separable_conv2d(input: Any, depthwise_filter: Any, pointwise_filter: Any, strides: Any, padding: Any, data_format: Any = None, dilations: Any = None) -> Any:
    middle = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(middle, pointwise_filter, 1, "VALID", data_format or "NHWC")


@op(name="nn.conv2d_transpose")
def conv2d_transpose(input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME", data_format: str = "NHWC", dilations: Any = None) -> Any:
    x, w = pair(_floats(input, "Conv2DTranspose"), filters, "Conv2DTranspose", numbers=False)
    shape = ints(output_shape)

    def back(y: Any) -> Any:
        whole = shape if _last(data_format) else [shape[0], shape[2], shape[3], shape[1]]
        stride, dilation = spatial(strides, 2, _last(data_format)), spatial(dilations or 1, 2)
        around = sides(padding, whole[1:3], list(w.shape[:2]), stride, dilation)
        return pm.conv2d_transpose(
            y, pm.transpose(w, [3, 2, 0, 1]), whole, stride=stride, dilation=dilation, layout="channels_last",
            padding=[around[0][0], around[0][1], around[1][0], around[1][1]],
        )

    return _channels(back, x, data_format, 4)


def pool(x: Any, size: list[int], stride: list[int], padding: Any, largest: bool) -> Any:
    """Windows of [n, h, w, c]. Means do not count what is padded, as TensorFlow's."""
    around = sides(padding, list(x.shape[1:3]), size, stride, [1, 1])
    (top, bottom), (left, right) = around
    op_ = pm.max_pool2d if largest else pm.avg_pool2d
    if not (top or bottom or left or right):
        return op_(x, size, stride=stride, layout="channels_last")
    if largest:
        low = pm.pad(x, [0, top, left, 0], [0, bottom, right, 0], float("-inf"))
        return pm.max_pool2d(low, size, stride=stride, layout="channels_last")
    padded = pm.pad(x, [0, top, left, 0], [0, bottom, right, 0])
    ones = pm.pad(pm.ones((1, *x.shape[1:3], 1), dtype=x.dtype), [0, top, left, 0], [0, bottom, right, 0])
    total = pm.avg_pool2d(padded, size, stride=stride, layout="channels_last")
    return total / pm.avg_pool2d(ones, size, stride=stride, layout="channels_last")


def _pooling(name: str, largest: bool) -> Callable[..., Any]:
    def call(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC") -> Any:
        x = _floats(input, name)
        if len(x.shape) != 4:
            unsupported(f"tf.nn.{name} of {len(x.shape)} dimensions", way="tf.keras.layers' pooling")
        size, stride = spatial(ksize, 2, _last(data_format)), spatial(strides, 2, _last(data_format))
        return _channels(lambda y: pool(y, size, stride, padding, largest), x, data_format, 4)

    call.__name__ = name
    return op(name=f"nn.{name}")(call)


max_pool2d = _pooling("max_pool2d", True)
avg_pool2d = _pooling("avg_pool2d", False)
max_pool = _pooling("max_pool", True)
avg_pool = _pooling("avg_pool", False)


def _pooling1d(name: str, largest: bool) -> Callable[..., Any]:
    def call(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC") -> Any:
        x = _floats(input, name)

        def one(y: Any) -> Any:
            wide = pm.reshape(y, [y.shape[0], 1, *y.shape[1:]])
            found = pool(wide, [1, spatial(ksize, 1)[0]], [1, spatial(strides, 1)[0]], padding, largest)
            return pm.reshape(found, [found.shape[0], *found.shape[2:]])

        return _channels(one, x, data_format, 3)

    call.__name__ = name
    return op(name=f"nn.{name}")(call)


max_pool1d = _pooling1d("max_pool1d", True)
avg_pool1d = _pooling1d("avg_pool1d", False)


@op(name="nn.convolution")
def convolution(input: Any, filters: Any, strides: Any = None, padding: Any = "VALID", data_format: Any = None, dilations: Any = None) -> Any:
    rank = len(tensor(input).shape)
    if rank == 3:
        return conv1d(input, filters, strides or 1, padding, data_format or "NWC", dilations)
    if rank == 4:
        return conv2d(input, filters, strides or 1, padding, data_format or "NHWC", dilations)
    unsupported(f"tf.nn.convolution of {rank} dimensions", way="tf.keras.layers.Conv3D")


@op(name="nn.space_to_depth")
def space_to_depth(input: Any, block_size: int, data_format: str = "NHWC") -> Any:
    x = tensor(input)
    n, h, w, c = x.shape
    b = int(block_size)
    apart = pm.reshape(x, [n, h // b, b, w // b, b, c])
    return pm.reshape(pm.transpose(apart, [0, 1, 3, 2, 4, 5]), [n, h // b, w // b, b * b * c])


@op(name="nn.depth_to_space")
def depth_to_space(input: Any, block_size: int, data_format: str = "NHWC") -> Any:
    x = tensor(input)
    n, h, w, c = x.shape
    b = int(block_size)
    apart = pm.reshape(x, [n, h, w, b, b, c // (b * b)])
    return pm.reshape(pm.transpose(apart, [0, 1, 3, 2, 4, 5]), [n, h * b, w * b, c // (b * b)])


@op(name="nn.normalize_moments")
def local_response_normalization(input: Any, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5) -> Any:
    x = tensor(input)
    r = int(depth_radius)
    padded = pm.pad(pm.square(x), [0, 0, 0, r], [0, 0, 0, r])
    total = padded[..., 0:x.shape[-1]]
    for i in range(1, 2 * r + 1):
        total = total + padded[..., i:i + x.shape[-1]]
    return x / (bias + alpha * total) ** beta


lrn = local_response_normalization


def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Any:
    """The sum of the losses by the size of the global batch."""
    from ._arrays import size
    from ._convert import convert_to_tensor
    from ._math import cast
    from ._reduce import reduce_sum

    losses = convert_to_tensor(per_example_loss)
    if sample_weight is not None:
        losses = losses * cast(convert_to_tensor(sample_weight), losses.dtype)
    count = size(losses) if global_batch_size is None else convert_to_tensor(global_batch_size)
    return reduce_sum(losses) / cast(count, losses.dtype)


def scale_regularization_loss(regularization_loss: Any) -> Any:
    """The loss by the number of replicas, which is one."""
    from ._reduce import reduce_sum

    return reduce_sum(regularization_loss)
