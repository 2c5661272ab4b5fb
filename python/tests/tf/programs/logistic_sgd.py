"""Logistic regression in one layer, with momentum and a schedule."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(120, 4)).astype("float32")
y = (x @ np.array([1.0, -1.0, 0.5, 2.0]) > 0).astype("float32")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, activation="sigmoid")])
fix(model)
schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.5, decay_steps=10, decay_rate=0.7)
model.compile(tf.keras.optimizers.SGD(schedule, momentum=0.8), "binary_crossentropy", metrics=["accuracy", "mse"])
history = model.fit(x, y, epochs=5, batch_size=24, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "rate": float(np.asarray(model.optimizer.learning_rate))}))
