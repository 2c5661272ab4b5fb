"""What people do with tf.data besides batches: zips, groups, buckets, choices, state."""

import json

import numpy as np
import tensorflow as tf

D = tf.data.Dataset
out = {}
numbers = D.range(10)
out["zip"] = [[int(a), int(b)] for a, b in D.zip((numbers, numbers.skip(3)))][:3]
out["enumerate"] = [[int(i), int(x)] for i, x in numbers.filter(lambda x: x % 4 == 1).enumerate(start=5)]
out["padded"] = [b.numpy().tolist() for b in D.range(1, 5).map(lambda n: tf.fill([n], n)).padded_batch(2, padding_values=tf.constant(-1, tf.int64))]
out["window"] = [w.numpy().tolist() for w in numbers.window(4, shift=3, drop_remainder=True).flat_map(lambda w: w.batch(4))]
out["scan"] = [int(x) for x in numbers.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x))]
out["groups"] = [g.numpy().tolist() for g in numbers.group_by_window(key_func=lambda x: x % 2, reduce_func=lambda key, w: w.batch(3), window_size=3)]
out["choose"] = [int(x) for x in D.choose_from_datasets([D.range(3), D.range(10, 13)], D.from_tensor_slices(tf.constant([0, 1, 1, 0, 0, 1], tf.int64)))]
out["concat"] = [int(x) for x in numbers.take(2).concatenate(numbers.skip(8)).repeat(2)]
out["take_while"] = [int(x) for x in numbers.take_while(lambda x: x < 4)]
out["unique"] = [int(x) for x in D.from_tensor_slices([3, 1, 3, 2, 1]).unique()]
out["rebatch"] = [b.numpy().tolist() for b in numbers.batch(3).unbatch().batch(4, drop_remainder=True)]
out["reduce"] = int(numbers.reduce(tf.constant(0, tf.int64), lambda s, x: s + x * x))
out["interleave"] = [int(x) for x in D.range(3).interleave(lambda x: D.from_tensors(x).repeat(3), cycle_length=2, block_length=2)]
out["shard"] = [int(x) for x in numbers.shard(3, 1)]
out["bucket"] = [list(b.shape) for b in D.range(1, 9).map(lambda n: tf.fill([n], n)).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [4, 7], [2, 2, 2])]
out["generator"] = [[int(a), b.numpy().tolist()] for a, b in D.from_generator(lambda: ((i, [i] * i) for i in range(1, 4)), output_signature=(tf.TensorSpec((), tf.int32), tf.TensorSpec((None,), tf.int32)))]
out["dict"] = {k: v.numpy().tolist() for k, v in next(iter(D.from_tensor_slices({"a": [1, 2], "b": [[3.0], [4.0]]}).batch(2))).items()}
out["cardinality"] = [int(numbers.batch(3).cardinality()), int(numbers.repeat().cardinality()), int(numbers.filter(lambda x: x > 1).cardinality())]
out["numpy"] = [list(map(int, x)) for x in numbers.batch(5).as_numpy_iterator()]
options = tf.data.Options()
options.deterministic = True
out["options"] = int(numbers.with_options(options).map(lambda x: x + 1, num_parallel_calls=2, deterministic=True).reduce(tf.constant(0, tf.int64), tf.add))
out["shuffle"] = sorted(int(x) for x in numbers.shuffle(4, seed=1, reshuffle_each_iteration=False))
single = D.from_tensors({"x": [1, 2]}).get_single_element()
out["single"] = single["x"].numpy().tolist()
out["strings"] = [s.numpy().decode() for s in D.from_tensor_slices(["a b", "c"]).map(tf.strings.upper).flat_map(lambda s: D.from_tensor_slices(tf.strings.split(s)))]
out["spec"] = [str(numbers.batch(2).element_spec.dtype.name), numbers.batch(2).element_spec.shape.as_list()]
print(json.dumps(out))
