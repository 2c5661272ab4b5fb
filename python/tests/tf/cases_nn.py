"""Cases of tf.nn."""

from __future__ import annotations

from typing import Any

import numpy as np

from api_cases import Arguments, Case, Draw, Plain
from cases_elements import unary


def along(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    return [d.floats(shape, dtype=str(d.of("float32", "float64")))], ({"axis": d.axis(len(shape))} if d.chance(0.6) else {})


def sparse_labels(d: Draw) -> Arguments:
    classes = d.whole(2, 5)
    lead = d.full_shape(1, 2)
    return [], {"labels": d.ints(lead, 0, classes - 1, str(d.of("int32", "int64"))), "logits": d.floats([*lead, classes])}


def dense_labels(d: Draw) -> Arguments:
    shape = d.full_shape(2, 2)
    labels = np.abs(d.floats(shape)) + np.float32(0.1)
    return [], {"labels": (labels / labels.sum(-1, keepdims=True)).astype(np.float32), "logits": d.floats(shape)}


def binary_labels(d: Draw) -> Arguments:
    shape = d.shape(1, 2)
    other = [*shape, 2] if d.chance(0.05) else shape
    return [], {"labels": d.floats(other, 0, 1), "logits": d.floats(shape)}


def weighted_labels(d: Draw) -> Arguments:
    args, kwargs = binary_labels(d)
    kwargs["labels"] = d.floats(list(kwargs["logits"].shape), 0, 1)
    kwargs["pos_weight"] = 1.5
    return args, kwargs


def picture(d: Draw, channels: int) -> Any:
    return d.floats([d.whole(1, 2), d.whole(3, 6), d.whole(3, 6), channels])


def conv2d(d: Draw) -> Arguments:
    channels = d.whole(1, 3)
    kernel = d.floats([d.whole(1, 3), d.whole(1, 3), channels, d.whole(1, 3)])
    kwargs: dict[str, Any] = {"strides": d.of(1, 2, [1, 2, 1, 1]), "padding": Plain(str(d.of("SAME", "VALID")))}
    if d.chance(0.2):
        kwargs.update(strides=1, dilations=d.whole(1, 2))
    return [picture(d, channels), kernel], kwargs


def depthwise(d: Draw) -> Arguments:
    channels = d.whole(1, 3)
    kernel = d.floats([d.whole(1, 3), d.whole(1, 3), channels, d.whole(1, 2)])
    step = d.whole(1, 2)
    return [picture(d, channels), kernel], {"strides": [1, step, step, 1], "padding": Plain(str(d.of("SAME", "VALID")))}


def conv1d(d: Draw) -> Arguments:
    channels = d.whole(1, 3)
    x = d.floats([d.whole(1, 2), d.whole(3, 7), channels])
    return [x, d.floats([d.whole(1, 3), channels, d.whole(1, 3)])], {"stride": d.whole(1, 2), "padding": Plain(str(d.of("SAME", "VALID")))}


def transposed(d: Draw) -> Arguments:
    n, h, w, inner, outer, step = d.whole(1, 2), d.whole(2, 4), d.whole(2, 4), d.whole(1, 3), d.whole(1, 3), d.whole(1, 2)
    x, kernel = d.floats([n, h, w, inner]), d.floats([d.whole(1, 3), d.whole(1, 3), outer, inner])
    return [x, kernel, Plain([n, h * step, w * step, outer])], {"strides": step, "padding": Plain("SAME")}


def pooling(d: Draw) -> Arguments:
    return [picture(d, d.whole(1, 3))], {"ksize": d.whole(1, 3), "strides": d.whole(1, 2), "padding": Plain(str(d.of("SAME", "VALID")))}


def bias(d: Draw) -> Arguments:
    shape = d.full_shape(2, 4)
    return [d.floats(shape), d.floats([shape[-1] + (1 if d.chance(0.05) else 0)])], {}


def moments(d: Draw) -> Arguments:
    shape = d.full_shape(1, 3)
    return [d.floats(shape)], {"axes": [d.whole(0, len(shape) - 1)], "keepdims": d.chance(0.5)}


def normalization(d: Draw) -> Arguments:
    shape = d.full_shape(2, 4)
    c = [shape[-1]]
    return [d.floats(shape), d.floats(c), d.floats(c, 0.1, 2), d.floats(c), d.floats(c), 0.001], {}


def lookup(d: Draw) -> Arguments:
    rows = d.whole(1, 5)
    return [d.floats([rows, d.whole(1, 3)]), d.ints(d.full_shape(0, 2), 0, rows - 1)], {}


def top_k_places(d: Draw) -> Arguments:
    n, classes = d.whole(1, 4), d.whole(2, 6)
    return [d.ints([n], 0, classes - 1), d.floats([n, classes]), d.whole(1, classes)], {}


def leaky(d: Draw) -> Arguments:
    return [d.floats(d.shape())], ({"alpha": 0.3} if d.chance(0.5) else {})


def blocks(d: Draw) -> Arguments:
    return [d.floats([d.whole(1, 2), 2 * d.whole(1, 2), 2 * d.whole(1, 2), d.whole(1, 3)]), 2], {}


def deep_blocks(d: Draw) -> Arguments:
    return [d.floats([d.whole(1, 2), d.whole(1, 3), d.whole(1, 3), 4 * d.whole(1, 2)]), 2], {}


CASES: dict[str, Case] = {
    "nn.relu": unary(whole=0.3), "nn.relu6": unary(-3, 9, 0), "nn.elu": unary(), "nn.selu": unary(), "nn.gelu": unary(whole=0),
    "nn.silu": unary(whole=0), "nn.softplus": unary(), "nn.softsign": unary(), "nn.tanh": unary(), "nn.sigmoid": unary(),
    "nn.leaky_relu": leaky, "nn.softmax": along, "nn.log_softmax": along,
    "nn.sparse_softmax_cross_entropy_with_logits": sparse_labels, "nn.softmax_cross_entropy_with_logits": dense_labels,
    "nn.sigmoid_cross_entropy_with_logits": binary_labels, "nn.weighted_cross_entropy_with_logits": weighted_labels,
    "nn.conv2d": conv2d, "nn.depthwise_conv2d": depthwise, "nn.conv1d": conv1d, "nn.conv2d_transpose": transposed,
    "nn.max_pool2d": pooling, "nn.avg_pool2d": pooling, "nn.bias_add": bias, "nn.moments": moments,
    "nn.batch_normalization": normalization, "nn.embedding_lookup": lookup, "math.in_top_k": top_k_places,
    "nn.l2_loss": unary(whole=0), "nn.l2_normalize": along, "nn.space_to_depth": blocks, "nn.depth_to_space": deep_blocks,
}
