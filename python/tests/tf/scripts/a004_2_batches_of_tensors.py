"""Article 004, example 2: a data set of tensors in batches, for a custom loop."""

import numpy as np
import tensorflow as tf

from pictures import report

rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(100, 50)), tf.float32)
y = tf.constant(rng.normal(size=(100, 10)), tf.float32)
weights = tf.Variable(tf.zeros((50, 10)))
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)


@tf.function
def train_step(x_batch, y_batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(y_batch - tf.matmul(x_batch, weights)))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


losses = []
for epoch in range(5):
    for x_batch, y_batch in dataset:
        losses.append(train_step(x_batch, y_batch).numpy())
report(losses=losses, weights=tf.reduce_sum(weights * weights))
