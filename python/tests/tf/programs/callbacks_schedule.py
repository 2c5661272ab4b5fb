"""A learning rate that a callback sets, one that drops on a plateau, and a log."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


import csv
import os
import tempfile

x = rng.normal(size=(40, 4)).astype("float32")
y = rng.normal(size=(40, 1)).astype("float32")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
fix(model)
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
seen = []
path = os.path.join(tempfile.mkdtemp(), "log.csv")
history = model.fit(x, y, epochs=6, batch_size=10, shuffle=False, verbose=0, callbacks=[
    tf.keras.callbacks.LearningRateScheduler(lambda epoch, lr: lr if epoch < 2 else lr * 0.5),
    tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch)),
    tf.keras.callbacks.CSVLogger(path),
])
with open(path) as file:
    rows = list(csv.DictReader(file))
model.compile(tf.keras.optimizers.SGD(0.5), "mse")
plateau = model.fit(x, y, epochs=5, batch_size=40, shuffle=False, verbose=0, callbacks=[
    tf.keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.2, patience=1, min_delta=0.5)])
print(json.dumps({"history": history.history, "seen": seen, "rows": len(rows), "heads": sorted(rows[0]),
                  "plateau": plateau.history}))
