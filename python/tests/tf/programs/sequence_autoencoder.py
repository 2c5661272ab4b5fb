"""A sequence as one vector, and back: RepeatVector."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = np.sin(np.arange(8)[None, :, None] * 0.5 + rng.uniform(0, 6, size=(40, 1, 1))).astype("float32")
model = tf.keras.Sequential([
    tf.keras.Input((8, 1)), tf.keras.layers.LSTM(6), tf.keras.layers.RepeatVector(8),
    tf.keras.layers.LSTM(6, return_sequences=True), tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(1))])
fix(model)
model.compile("adam", "mse")
history = model.fit(x, x, epochs=3, batch_size=10, shuffle=False, verbose=0)
anomaly = np.mean(np.abs(model.predict(x, verbose=0) - x), axis=(1, 2))
print(json.dumps({"history": history.history, "anomaly": anomaly[:5].tolist()}))
