"""Volumes: three-dimensional convolutions and pooling."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.uniform(size=(10, 6, 6, 6, 1)).astype("float32")
y = rng.randint(0, 2, size=(10, 1)).astype("float32")
model = tf.keras.Sequential([
    tf.keras.Input((6, 6, 6, 1)), tf.keras.layers.Conv3D(4, 3, activation="relu"), tf.keras.layers.MaxPooling3D(2),
    tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
fix(model)
model.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True), metrics=[tf.keras.metrics.BinaryAccuracy(threshold=0.0)])
history = model.fit(x, y, epochs=3, batch_size=5, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "params": model.count_params()}))
