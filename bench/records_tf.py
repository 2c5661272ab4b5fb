#!/usr/bin/env python3
"""tf.data on the file that bench_records wrote: records_tf.py FILE

Prints elements per second of parse_single_example before a batch, and of parse_example on batches.
"""

import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

FEATURES = {
    "label": tf.io.FixedLenFeature([], tf.int64),
    "values": tf.io.FixedLenFeature([16], tf.float32),
    "text": tf.io.FixedLenFeature([], tf.string),
}


def rate(dataset):
    best = 0.0
    for _ in range(3):
        begin = time.perf_counter()
        count = sum(int(batch["label"].shape[0]) for batch in dataset)
        best = max(best, count / (time.perf_counter() - begin))
    return best


records = tf.data.TFRecordDataset(sys.argv[1])
single = (
    records.map(
        lambda r: tf.io.parse_single_example(r, FEATURES), num_parallel_calls=tf.data.AUTOTUNE
    )
    .batch(256)
    .prefetch(tf.data.AUTOTUNE)
)
batched = (
    records.batch(256)
    .map(lambda r: tf.io.parse_example(r, FEATURES), num_parallel_calls=tf.data.AUTOTUNE)
    .prefetch(tf.data.AUTOTUNE)
)
print(f"tf_parse_single_example {rate(single):.0f}")
print(f"tf_parse_example {rate(batched):.0f}")
