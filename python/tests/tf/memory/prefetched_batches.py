"""prefetch(16) of batches of 96 MiB, while the loop works on one."""

from common import ready, report, tf

batches = tf.data.Dataset.range(96 * 16).map(
    lambda i: tf.fill([512, 512], tf.cast(i, tf.float32) / 1000.0), num_parallel_calls=4).batch(96).prefetch(16)
weight = tf.Variable(tf.ones([512, 512]) / 512.0)


@tf.function
def work(batch):
    rows = tf.reshape(batch, [-1, 512])
    for _ in range(3):
        rows = tf.matmul(rows, weight)
    return tf.reduce_mean(rows)


ready()
report(means=[float(work(batch)) for batch in batches])
