"""A network that solves u'' = -u with u(0) = 0 and u'(0) = 1: second derivatives by the input, in the loss."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(5)
model = tf.keras.Sequential([
    tf.keras.Input((1,)), tf.keras.layers.Dense(12, activation="tanh"), tf.keras.layers.Dense(12, activation="tanh"),
    tf.keras.layers.Dense(1)])
model.set_weights([(rng.normal(size=w.shape) * 0.6).astype("float32") for w in model.get_weights()])
optimizer = tf.keras.optimizers.Adam(0.01)
points = tf.constant(np.linspace(0, 2, 20).astype("float32")[:, None])
start = tf.zeros([1, 1])


@tf.function
def step():
    with tf.GradientTape() as outer:
        with tf.GradientTape() as second:
            second.watch(points)
            with tf.GradientTape() as first:
                first.watch(points)
                u = model(points)
            slope = first.gradient(u, points)
        bend = second.gradient(slope, points)
        with tf.GradientTape() as at_start:
            at_start.watch(start)
            u0 = model(start)
        slope0 = at_start.gradient(u0, start)
        loss = (tf.reduce_mean(tf.square(bend + u)) + tf.reduce_mean(tf.square(u0))
                + tf.reduce_mean(tf.square(slope0 - 1.0)))
    optimizer.apply_gradients(zip(outer.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


losses = [float(step()) for _ in range(20)]
print(json.dumps({"losses": losses, "solution": model(points).numpy()[::5, 0].tolist()}))
