"""cache() of 1,500 elements of a megabyte each, read twice."""

from common import ready, report, tf

elements = tf.data.Dataset.range(1500).map(lambda i: tf.fill([512, 512], tf.cast(i, tf.float32) / 1000.0)).cache()
ready()
totals = []
for epoch in range(2):
    total = 0.0
    for batch in elements.batch(10):
        total += float(tf.reduce_mean(batch))
    totals.append(total)
report(totals=totals)
