"""Weights and models in files, and a model made of a configuration."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


import os
import tempfile

x = rng.normal(size=(20, 4)).astype("float32")
y = rng.normal(size=(20, 1)).astype("float32")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3, activation="relu"), tf.keras.layers.Dense(1)])
fix(model)
model.compile("adam", "mse")
model.fit(x, y, epochs=2, batch_size=10, shuffle=False, verbose=0)
folder = tempfile.mkdtemp()
model.save(os.path.join(folder, "model.keras"))
again = tf.keras.models.load_model(os.path.join(folder, "model.keras"))
same = bool(np.allclose(model.predict(x, verbose=0), again.predict(x, verbose=0)))
more = again.fit(x, y, epochs=1, batch_size=10, shuffle=False, verbose=0)
clone = tf.keras.models.clone_model(model)
clone.set_weights(model.get_weights())
other = tf.keras.Sequential.from_config(model.get_config())
print(json.dumps({"same": same, "more": more.history, "clone": clone.predict(x[:2], verbose=0).tolist(),
                  "layers": len(other.layers), "evaluate": model.evaluate(x, y, verbose=0)}))
