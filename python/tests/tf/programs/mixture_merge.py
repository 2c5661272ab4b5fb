"""Layers that merge: sums, products, maxima, dot products."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(24, 6)).astype("float32")
y = rng.normal(size=(24, 1)).astype("float32")
inputs = tf.keras.Input((6,))
a = tf.keras.layers.Dense(4, activation="tanh")(inputs)
b = tf.keras.layers.Dense(4, activation="softplus")(inputs)
parts = [tf.keras.layers.Add()([a, b]), tf.keras.layers.Subtract()([a, b]), tf.keras.layers.Multiply()([a, b]),
         tf.keras.layers.Average()([a, b]), tf.keras.layers.Maximum()([a, b]), tf.keras.layers.Minimum()([a, b]),
         tf.keras.layers.Dot(axes=1)([a, b]), tf.keras.layers.Dot(axes=1, normalize=True)([a, b])]
outputs = tf.keras.layers.Dense(1)(tf.keras.layers.concatenate(parts))
model = tf.keras.Model(inputs, outputs)
fix(model)
model.compile("sgd", "huber", metrics=["mse"])
history = model.fit(x, y, epochs=3, batch_size=8, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "shape": list(model.output_shape)}))
