"""Article 001, example 1: memory that grows as it is needed, on every GPU there is, before anything is computed."""

import numpy as np
import tensorflow as tf

from pictures import report

gpus = tf.config.list_physical_devices("GPU")
for gpu in gpus:
    try:
        tf.config.experimental.set_memory_growth(gpu, True)
    except RuntimeError as error:
        print(error)
print(len(gpus), "GPUs,", len(tf.config.list_logical_devices("CPU")), "CPU")
rows = tf.constant(np.random.RandomState(11).randn(256, 128).astype("float32"))
total = tf.zeros([128, 128])
for _ in range(50):
    total = total + tf.matmul(rows, rows, transpose_a=True) / 256.0
report(gpus=[len(gpus)], total=tf.reduce_sum(total, axis=0))
