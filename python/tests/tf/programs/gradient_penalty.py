"""A loss with the gradient of an output by its input in it: a tape in a tape."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = tf.constant(rng.normal(size=(10, 3)).astype("float32"))
dense = tf.keras.layers.Dense(4, activation=lambda v: v * v)
head = tf.keras.layers.Dense(1)
head(dense(x))
dense.set_weights([(rng.normal(size=w.shape) * 0.3).astype("float32") for w in dense.get_weights()])
head.set_weights([(rng.normal(size=w.shape) * 0.3).astype("float32") for w in head.get_weights()])
optimizer = tf.keras.optimizers.SGD(0.1)
variables = dense.trainable_variables + head.trainable_variables
losses = []
for _ in range(5):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(head(dense(x)))
        slope = inner.gradient(y, x)
        loss = tf.reduce_mean(tf.square(tf.norm(slope, axis=1) - 1.0))
    gradients = outer.gradient(loss, variables)
    pairs = [(g, v) for g, v in zip(gradients, variables) if g is not None]
    optimizer.apply_gradients(pairs)
    losses.append(float(loss))
print(json.dumps({"losses": losses, "without": sum(g is None for g in gradients)}))
