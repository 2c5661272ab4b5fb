"""Linear regression in closed form, with and without a ridge, against gradient descent."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)
x = rng.normal(size=(60, 5)).astype("float32")
w = np.arange(1, 6, dtype="float32")[:, None]
y = (x @ w + 0.1 * rng.normal(size=(60, 1))).astype("float32")
closed = tf.linalg.lstsq(x, y)
ridge = tf.linalg.lstsq(x, y, l2_regularizer=5.0)
inverse = tf.linalg.pinv(tf.constant(x)) @ y
weights = tf.Variable(tf.zeros([5, 1]))
optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.5)
losses = []
for _ in range(20):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    losses.append(float(loss))
covariance = tf.linalg.inv(tf.matmul(x, x, transpose_a=True))
print(json.dumps({
    "closed": closed.numpy()[:, 0].tolist(), "ridge": ridge.numpy()[:, 0].tolist(), "pinv": inverse.numpy()[:, 0].tolist(),
    "losses": losses, "descended": weights.numpy()[:, 0].tolist(), "trace": float(tf.linalg.trace(covariance))}))
