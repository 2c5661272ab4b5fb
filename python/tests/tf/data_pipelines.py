"""Small pipelines whose elements are determined: run under TensorFlow, which record_data.py records,
and here."""

from __future__ import annotations

from typing import Any

import numpy as np

from data_cases import case, extent


def source(tf: Any, rng: Any) -> Any:
    """A dataset of one of several kinds."""
    count = extent(rng, 1, 13)
    kind = int(rng.integers(5))
    x = rng.integers(-9, 9, (count, 2)).astype("float32")
    if kind == 0:
        return tf.data.Dataset.range(count)
    if kind == 1:
        return tf.data.Dataset.from_tensor_slices(x)
    if kind == 2:
        return tf.data.Dataset.from_tensor_slices((x, np.arange(count)))
    if kind == 3:
        return tf.data.Dataset.from_tensor_slices({"b": x, "a": [f"s{i}" for i in range(count)]})
    return tf.data.Dataset.zip((tf.data.Dataset.range(count), tf.data.Dataset.from_tensor_slices(x)))


def first(element: Any) -> Any:
    while isinstance(element, (tuple, dict)):
        element = element[0] if isinstance(element, tuple) else element["b"]
    return element


def all_of(tf: Any, dataset: Any) -> Any:
    """The elements, the count and the spec."""
    elements = [tf.nest.flatten(each) for each in dataset.take(40)]
    specs = [(each.dtype.name, each.shape.rank) for each in tf.nest.flatten(dataset.element_spec)]
    return [elements, len(elements), str(specs)]


STAGES = (
    lambda tf, rng, d: d.take(int(rng.integers(-1, 9))),
    lambda tf, rng, d: d.skip(int(rng.integers(0, 5))),
    lambda tf, rng, d: d.repeat(int(rng.integers(0, 3))),
    lambda tf, rng, d: d.shard(3, int(rng.integers(3))),
    lambda tf, rng, d: d.batch(extent(rng, 1, 4), drop_remainder=bool(rng.random() < 0.5)),
    lambda tf, rng, d: d.batch(2).unbatch(),
    lambda tf, rng, d: d.enumerate(start=int(rng.integers(5))),
    lambda tf, rng, d: d.cache(),
    lambda tf, rng, d: d.prefetch(int(rng.integers(1, 3))),
    lambda tf, rng, d: d.concatenate(d.take(2)),
    lambda tf, rng, d: tf.data.Dataset.zip((d, d)),
    lambda tf, rng, d: d.filter(lambda *e: tf.reduce_sum(tf.cast(first_of(e), tf.float32)) > float(2)),
    lambda tf, rng, d: d.map(lambda *e: tf.cast(first_of(e), tf.float32) * 2.0 + 1.0),
    lambda tf, rng, d: d.map(lambda *e: {"x": first_of(e), "y": tf.shape(first_of(e))}),
    lambda tf, rng, d: d.apply(lambda x: x.take(4)),
)


def first_of(element: Any) -> Any:
    return first(tuple(element))


@case("data.stages")
def _(tf: Any, rng: Any) -> Any:
    dataset = source(tf, rng)
    for _i in range(extent(rng, 1, 4)):
        dataset = STAGES[int(rng.integers(len(STAGES)))](tf, rng, dataset)
    return all_of(tf, dataset)


@case("data.window")
def _(tf: Any, rng: Any) -> Any:
    size = extent(rng, 1, 4)
    shift = [None, 1, 2][int(rng.integers(3))]
    dataset = tf.data.Dataset.range(extent(rng, 4, 12)).window(size, shift, extent(rng, 1, 2), bool(rng.random() < 0.5))
    drop = bool(rng.random() < 0.3)
    return all_of(tf, dataset.flat_map(lambda w: w.batch(size, drop_remainder=drop)))


@case("data.padded_batch")
def _(tf: Any, rng: Any) -> Any:
    lengths = rng.integers(0, 6, extent(rng, 1, 8))
    dataset = tf.data.Dataset.from_tensor_slices(lengths).map(lambda n: tf.fill([n], n))
    shape = [None, [8]][int(rng.integers(2))]
    value = [None, -1][int(rng.integers(2))]
    if value is not None:
        value = tf.constant(-1, tf.int64)
    return all_of(tf, dataset.padded_batch(extent(rng, 1, 3), padded_shapes=shape, padding_values=value))


@case("data.interleave")
def _(tf: Any, rng: Any) -> Any:
    outer = tf.data.Dataset.range(extent(rng, 1, 5))
    cycle, block = extent(rng, 1, 4), extent(rng, 1, 3)
    return all_of(tf, outer.interleave(lambda i: tf.data.Dataset.from_tensors(i).repeat(3), cycle, block))


@case("data.flat_map")
def _(tf: Any, rng: Any) -> Any:
    rows = rng.integers(0, 9, (extent(rng, 1, 4), 3))
    return all_of(tf, tf.data.Dataset.from_tensor_slices(rows).flat_map(tf.data.Dataset.from_tensor_slices))


@case("data.scan_take_while_reduce")
def _(tf: Any, rng: Any) -> Any:
    dataset = tf.data.Dataset.range(extent(rng, 2, 9))
    total = dataset.reduce(np.int64(0), lambda s, x: s + x)
    sums = dataset.scan(np.int64(0), lambda s, x: (s + x, s * x))
    limit = int(rng.integers(1, 9))
    return [total, all_of(tf, sums), all_of(tf, dataset.take_while(lambda x: x < limit))]


@case("data.choose_from_datasets")
def _(tf: Any, rng: Any) -> Any:
    sets = [tf.data.Dataset.from_tensors(i).repeat(extent(rng, 1, 4)) for i in range(3)]
    choice = tf.data.Dataset.from_tensor_slices(rng.integers(0, 3, 8).astype("int64"))
    return all_of(tf, tf.data.Dataset.choose_from_datasets(sets, choice, bool(rng.random() < 0.5)))


@case("data.group_by_window")
def _(tf: Any, rng: Any) -> Any:
    size = extent(rng, 1, 4)
    dataset = tf.data.Dataset.range(extent(rng, 2, 12))
    return all_of(tf, dataset.group_by_window(lambda x: x % 3, lambda key, d: d.batch(size), size))


@case("data.bucket_by_sequence_length")
def _(tf: Any, rng: Any) -> Any:
    lengths = rng.integers(1, 9, extent(rng, 2, 10))
    dataset = tf.data.Dataset.from_tensor_slices(lengths).map(lambda n: tf.fill([n], n))
    return all_of(tf, dataset.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 6], [2, 2, 2]))


@case("data.from_generator")
def _(tf: Any, rng: Any) -> Any:
    rows = [(int(rng.integers(9)), rng.normal(size=extent(rng, 1, 3)).astype("float32")) for _i in range(extent(rng, 1, 5))]
    signature = (tf.TensorSpec((), tf.int32), tf.TensorSpec((None,), tf.float32))
    return all_of(tf, tf.data.Dataset.from_generator(lambda: iter(rows), output_signature=signature))


@case("data.unique_rebatch")
def _(tf: Any, rng: Any) -> Any:
    numbers = rng.integers(0, 5, extent(rng, 1, 12)).astype("int64")
    dataset = tf.data.Dataset.from_tensor_slices(numbers)
    return [all_of(tf, dataset.unique()), all_of(tf, dataset.batch(3).rebatch(2))]
