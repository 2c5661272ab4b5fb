"""Forecasting a series from windows, with a GRU."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


series = np.sin(np.arange(200) * 0.2).astype("float32")
window = 10
x = np.stack([series[i:i + window] for i in range(180)])[..., None]
y = series[window:window + 180][:, None]
model = tf.keras.Sequential([
    tf.keras.Input((window, 1)),
    tf.keras.layers.GRU(8, return_sequences=True),
    tf.keras.layers.SimpleRNN(6),
    tf.keras.layers.Dense(1),
])
fix(model)
model.compile(optimizer=tf.keras.optimizers.RMSprop(0.005), loss="mse", metrics=["mae"])
history = model.fit(x, y, epochs=3, batch_size=30, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "next": model.predict(x[-2:], verbose=0).tolist()}))
