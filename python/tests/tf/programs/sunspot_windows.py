"""A series in windows of tf.data, forecast by convolutions and an LSTM; a learning rate by epoch."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


time = np.arange(200, dtype="float32")
series = (10 + np.sin(time * 0.2) * 3 + time * 0.02 + rng.randn(200) * 0.3).astype("float32")
split, window = 150, 12


def windowed(values, batch):
    ds = tf.data.Dataset.from_tensor_slices(tf.expand_dims(values, -1))
    ds = ds.window(window + 1, shift=1, drop_remainder=True)
    ds = ds.flat_map(lambda w: w.batch(window + 1))
    ds = ds.map(lambda w: (w[:-1], w[1:]))
    return ds.batch(batch).prefetch(1)


model = tf.keras.models.Sequential([
    tf.keras.layers.InputLayer(shape=(None, 1)),
    tf.keras.layers.Conv1D(8, 3, padding="causal", activation="relu"),
    tf.keras.layers.LSTM(8, return_sequences=True),
    tf.keras.layers.Dense(1),
    tf.keras.layers.Lambda(lambda x: x * 20.0)])
fix(model)
rate = tf.keras.callbacks.LearningRateScheduler(lambda epoch: 1e-3 * 10 ** (epoch / 4))
model.compile(loss=tf.keras.losses.Huber(), optimizer=tf.keras.optimizers.SGD(learning_rate=1e-3, momentum=0.9), metrics=["mae"])
history = model.fit(windowed(series[:split], 16), epochs=4, callbacks=[rate], verbose=0)
forecast = model.predict(series[np.newaxis, split - window:split, np.newaxis], verbose=0)
naive = tf.keras.losses.mae(series[split:], series[split - 1:-1])
print(json.dumps({"history": {k: [float(v) for v in vs] for k, vs in history.history.items()},
                  "forecast": forecast[0, -3:, 0].tolist(), "naive": float(tf.reduce_mean(naive))}))
