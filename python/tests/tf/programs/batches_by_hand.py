"""Single batches: train_on_batch, test_on_batch, predict_on_batch."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(30, 4)).astype("float32")
y = rng.randint(0, 3, size=30)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(6, activation="swish"), tf.keras.layers.Dense(3)])
fix(model)
model.compile("adamax", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
found = []
for i in range(0, 30, 10):
    found.append([float(v) for v in model.train_on_batch(x[i:i + 10], y[i:i + 10])])
tested = model.test_on_batch(x, y, return_dict=True)
print(json.dumps({"trained": found, "tested": {k: float(v) for k, v in tested.items()},
                  "predicted": np.asarray(model.predict_on_batch(x[:2])).tolist()}))
