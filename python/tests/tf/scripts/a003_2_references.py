"""Article 003, example 2: references to large results are deleted, the graph is reset, memory is back."""

import gc

import numpy as np
import tensorflow as tf

from pictures import report

tf.compat.v1.disable_eager_execution()


def unit(size):
    session = tf.compat.v1.Session()
    grid = tf.reshape(tf.range(size * size, dtype=tf.float32), [size, size]) / size**2
    found = session.run(tf.matmul(grid, grid, transpose_b=True))
    corner, trace = found[:2, :2].copy(), np.trace(found) / size**2
    del grid, found
    session.close()
    return corner, trace


results = [unit(400) for _ in range(3)]
tf.compat.v1.reset_default_graph()
gc.collect()
with tf.compat.v1.Session() as session:
    ones = session.run(tf.ones((3, 2)))
report(corner=results[0][0], trace=[each[1] for each in results], ones=ones)
