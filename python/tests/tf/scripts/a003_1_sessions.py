"""Article 003, example 1: two sessions, one after the other, each of which is closed."""

import numpy as np
import tensorflow as tf

from pictures import report

tf.compat.v1.disable_eager_execution()

left = np.random.RandomState(0).randn(300, 200).astype("float32")
right = np.random.RandomState(1).randn(200, 100).astype("float32")
sums = []
for turn in range(2):
    session = tf.compat.v1.Session()
    a = tf.constant(left * (turn + 1))
    b = tf.constant(right)
    product = tf.matmul(a, b)
    sums.append(session.run(tf.reduce_sum(product, axis=0)) / 100)
    drawn = session.run(tf.random.normal((500, 500)))
    assert abs(float(drawn.mean())) < 0.02 and abs(float(drawn.std()) - 1) < 0.02
    session.close()
    print("computation", turn + 1, "done")
report(first=sums[0], second=sums[1])
