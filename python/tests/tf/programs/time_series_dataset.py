"""Windows of a series from timeseries_dataset_from_array, for several kinds of models."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


series = (np.sin(np.arange(120) * 0.3) + 0.1 * np.cos(np.arange(120))).astype("float32")[:, None]
data = tf.keras.utils.timeseries_dataset_from_array(series[:-8], series[8:], sequence_length=8, batch_size=16)
found = {}
for name, layers in {
    "linear": [tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)],
    "conv": [tf.keras.layers.Conv1D(4, 4, activation="relu"), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)],
    "lstm": [tf.keras.layers.LSTM(4), tf.keras.layers.Dense(1)],
}.items():
    model = tf.keras.Sequential([tf.keras.Input((8, 1)), *layers])
    fix(model)
    model.compile("adam", "mse", metrics=[tf.keras.metrics.MeanAbsoluteError()])
    found[name] = model.fit(data, epochs=2, verbose=0).history
print(json.dumps(found))
