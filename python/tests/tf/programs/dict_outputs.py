"""Outputs by name, and a loss for one of them only."""

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
y = {"mean": rng.normal(size=(30, 1)).astype("float32"), "kind": rng.randint(0, 2, size=(30, 1)).astype("float32")}
inputs = tf.keras.Input((4,))
h = tf.keras.layers.Dense(6, activation="tanh")(inputs)
model = tf.keras.Model(inputs, {"mean": tf.keras.layers.Dense(1, name="mean")(h),
                                "kind": tf.keras.layers.Dense(1, activation="sigmoid", name="kind")(h)})
fix(model)
model.compile("adam", loss={"mean": "mse", "kind": "binary_crossentropy"})
history = model.fit(x, y, epochs=3, batch_size=10, shuffle=False, verbose=0)
found = model.predict(x[:2], verbose=0)
print(json.dumps({"history": {k: v for k, v in history.history.items() if k == "loss"},
                  "predict": {key: found[key].tolist() for key in sorted(found)}}))
