"""Wide and deep: a linear part and a network, added up, by two optimizers of one kind."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(64, 8)).astype("float32")
y = (x[:, 0] * x[:, 1] + x[:, 2]).astype("float32")
inputs = tf.keras.Input((8,))
wide = tf.keras.layers.Dense(1, use_bias=False)(inputs)
deep = inputs
for units in (16, 8):
    deep = tf.keras.layers.Dense(units, activation="relu")(deep)
deep = tf.keras.layers.Dense(1)(deep)
model = tf.keras.Model(inputs, wide + deep)
fix(model)
model.compile(tf.keras.optimizers.Ftrl(0.1), "mse", metrics=["mae"])
history = model.fit(x, y, epochs=3, batch_size=16, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "predict": model.predict(x[:3], verbose=0).tolist()}))
