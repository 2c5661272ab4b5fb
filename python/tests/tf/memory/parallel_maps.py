"""A parallel map over large elements: 32 of 48 MiB are made ahead of a loop that takes its time."""

from common import ready, report, tf

elements = tf.data.Dataset.range(48).map(
    lambda i: tf.fill([12, 1024, 1024], tf.cast(i, tf.float32) / 10.0), num_parallel_calls=32)


@tf.function
def work(x):
    for _ in range(4):
        x = tf.sin(x) + 0.5
    return tf.reduce_mean(x)


ready()
report(means=[float(work(each)) for each in elements])
