"""Datasets of generators, with and without signatures; parts of sets, caches, samples and optional elements."""

import json

import numpy as np
import tensorflow as tf

out = {}


def count(stop):
    i = 0
    while i < stop:
        yield i
        i += 1


ds_counter = tf.data.Dataset.from_generator(count, args=[25], output_types=tf.int32, output_shapes=())
out["counter"] = [b.numpy().tolist() for b in ds_counter.repeat().batch(10).take(4)]


def gen_series():
    r = np.random.RandomState(0)
    for i in range(7):
        size = r.randint(0, 6)
        yield (i, r.normal(size=(size,)))


ds_series = tf.data.Dataset.from_generator(gen_series, output_types=(tf.int32, tf.float32),
    output_shapes=((), (None,)))
out["series"] = [[i.numpy().tolist(), s.numpy().tolist()] for i, s in ds_series.padded_batch(3)]
out["series_shapes"] = [s.shape.as_list() for s in ds_series.element_spec]


class Sequence:
    def __init__(self, x, y):
        self.x, self.y = (x, y)

    def __len__(self):
        return len(self.x)

    def __call__(self):
        for i in range(len(self)):
            yield ({"a": self.x[i], "b": str(i)}, self.y[i])


x = np.arange(20, dtype=np.float32).reshape(10, 2)
y = np.arange(10) % 3
ds = tf.data.Dataset.from_generator(Sequence(x, y), output_signature=({"a": tf.TensorSpec((2,), tf.float32),
    "b": tf.TensorSpec((), tf.string)}, tf.TensorSpec((), tf.int64)))
ds = ds.apply(tf.data.experimental.assert_cardinality(10))
out["len"] = [len(ds), int(ds.cardinality())]
out["b"] = [[s.decode() for s in f["b"].numpy()] for f, _ in ds.batch(4)]
base = tf.data.Dataset.from_tensor_slices((x, y))
cached = base.cache().shuffle(100, seed=3).repeat(2).batch(4, drop_remainder=True)
out["cached"] = [len(list(cached)), int(cached.cardinality()),
    sorted((int(v) for _, b in base.cache().shuffle(10).batch(4) for v in b))]
train, val, test = (base.take(6), base.skip(6).take(2), base.skip(8))
out["split"] = [[int(b) for _, b in d] for d in (train, val, test)]
left, right = tf.keras.utils.split_dataset(base, left_size=0.7, shuffle=False)
out["split2"] = [len(left), len(right), [int(b) for _, b in right]]
out["unbatch"] = [int(b) for _, b in base.batch(4).unbatch().filter(lambda a, b: b != 1)]
out["ragged"] = [r.to_list() for r in tf.data.Dataset.range(5).map(lambda i: tf.range(i)).ragged_batch(2)] if hasattr(tf.data.Dataset,
    "ragged_batch") else None
out["reduce"] = [float(v) for v in base.reduce((0.0, np.int64(0)), lambda s,
    e: (s[0] + tf.reduce_sum(e[0]), s[1] + e[1]))]
out["flat"] = [float(v) for v in base.flat_map(lambda a, b: tf.data.Dataset.from_tensor_slices(a))][:5]
weights = tf.data.Dataset.sample_from_datasets([base.repeat(), base.skip(5).repeat()], weights=[0.5, 0.5],
    seed=1).take(20)
out["sampled"] = len(list(weights))
balanced = base.rejection_resample(class_func=lambda a, b: b, target_dist=[1 / 3, 1 / 3, 1 / 3],
    initial_dist=[0.4, 0.3, 0.3], seed=2)
out["resampled"] = all((int(c) == int(e[1]) for c, e in balanced))
it = iter(base.batch(5))
out["next"] = [int(next(it)[1][0]), int(next(it)[1][0])]
try:
    next(it)
except StopIteration:
    out["stop"] = True
print_spec = base.batch(3).element_spec
out["spec"] = [str(print_spec[0].shape), print_spec[0].dtype.name,
    str(tf.data.experimental.get_structure(base)[1].shape)]
out["get_next"] = int(iter(base).get_next()[1])
o = iter(base.take(1)).get_next_as_optional()
out["opt"] = [bool(o.has_value()), int(o.get_value()[1])]
opts = tf.data.Options()
opts.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
opts.threading.private_threadpool_size = 1
opts.autotune.enabled = True
out["opts"] = len(list(base.with_options(opts).prefetch(buffer_size=tf.data.experimental.AUTOTUNE)))
out["rand"] = list(next(iter(tf.data.Dataset.random(seed=4).take(3).batch(3))).shape)
out["counterds"] = [int(v) for v in tf.data.Dataset.counter(start=2, step=3).take(3)]
print(json.dumps(out))
