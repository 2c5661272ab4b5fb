"""Constraints on weights, and values that initializers give."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(40, 5)).astype("float32")
y = rng.normal(size=(40, 1)).astype("float32")
model = tf.keras.Sequential([
    tf.keras.Input((5,)),
    tf.keras.layers.Dense(6, kernel_constraint=tf.keras.constraints.NonNeg(), bias_initializer="ones"),
    tf.keras.layers.Dense(4, kernel_constraint=tf.keras.constraints.UnitNorm(axis=0)),
    tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.Constant(0.1),
                          kernel_constraint=tf.keras.constraints.MinMaxNorm(0.2, 0.5))])
fix(model)
model.compile(tf.keras.optimizers.SGD(0.05), "mse")
history = model.fit(x, y, epochs=3, batch_size=10, shuffle=False, verbose=0)
weights = model.get_weights()
print(json.dumps({"history": history.history, "least": float(weights[0].min()) >= 0,
                  "norms": np.linalg.norm(weights[2], axis=0).tolist(), "last": weights[4].ravel().tolist()}))
