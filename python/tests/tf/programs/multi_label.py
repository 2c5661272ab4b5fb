"""Several labels at once: a sigmoid for each, with AUC and precision."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(60, 6)).astype("float32")
y = (x[:, :4] > 0.3).astype("float32")
model = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(12, activation="gelu"),
                             tf.keras.layers.Dense(4, activation="sigmoid")])
fix(model)
model.compile(tf.keras.optimizers.AdamW(0.05, weight_decay=0.01), tf.keras.losses.BinaryFocalCrossentropy(),
              metrics=["binary_accuracy", tf.keras.metrics.Recall(name="recall")])
history = model.fit(x, y, epochs=5, batch_size=20, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "predict": model.predict(x[:2], verbose=0).tolist()}))
