"""A shuffle buffer of 1,500 elements of a megabyte each."""

from common import ready, report, tf

elements = tf.data.Dataset.range(1500).map(lambda i: tf.fill([512, 512], tf.cast(i, tf.float32) / 1000.0))
shuffled = elements.shuffle(1500).batch(10)
ready()
total, count = 0.0, 0
for batch in shuffled:
    total += float(tf.reduce_mean(batch))
    count += batch.shape[0]
report(total=[total], count=[count])
