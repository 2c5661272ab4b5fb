"""A Gaussian process: its likelihood by a Cholesky factor, its parameters by gradients through it."""

import json

import numpy as np
import tensorflow as tf

x = np.linspace(-2, 2, 24).astype("float32")[:, None]
y = (np.sin(3 * x) + 0.1 * np.cos(17 * x)).astype("float32")
length, amplitude, noise = (tf.Variable(v, dtype=tf.float32) for v in (0.0, 0.0, -2.0))
distance = tf.constant((x - x.T) ** 2)


def kernel(d):
    return tf.exp(2.0 * amplitude) * tf.exp(-0.5 * d / tf.exp(2.0 * length))


def loss():
    k = kernel(distance) + tf.exp(2.0 * noise) * tf.eye(24)
    factor = tf.linalg.cholesky(k)
    alpha = tf.linalg.cholesky_solve(factor, tf.constant(y))
    return 0.5 * tf.reduce_sum(y * alpha) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))


losses = []
for _ in range(15):
    with tf.GradientTape() as tape:
        value = loss()
    variables = [length, amplitude, noise]
    for g, v in zip(tape.gradient(value, variables), variables):
        v.assign_sub(0.005 * g)
    losses.append(float(value))
k = kernel(distance) + tf.exp(2.0 * noise) * tf.eye(24)
mean = tf.matmul(kernel(distance), tf.linalg.solve(k, tf.constant(y)))
print(json.dumps({"losses": losses, "length": float(length), "mean": mean.numpy()[::6, 0].tolist(),
                  "logdet": float(tf.linalg.logdet(k))}))
