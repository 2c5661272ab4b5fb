"""Callbacks: a plateau, early stopping, a log, lambdas, and one of one's own."""

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

x = rng.normal(size=(60, 4)).astype("float32")
y = (x @ np.array([[1.0], [-2.0], [0.5], [0.0]]) + 0.3 * rng.normal(size=(60, 1))).astype("float32")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(6, activation="tanh"), tf.keras.layers.Dense(1)])
fix(model)
model.compile(tf.keras.optimizers.Adam(0.1), loss="mse", metrics=["mae", "mape"])
seen = {"begin": [], "batches": 0, "rates": [], "order": []}


class Watch(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        seen["order"].append("train_begin")

    def on_epoch_begin(self, epoch, logs=None):
        seen["begin"].append(epoch)

    def on_train_batch_end(self, batch, logs=None):
        seen["batches"] += 1
        assert "loss" in logs

    def on_test_end(self, logs=None):
        seen["order"].append("test_end")

    def on_epoch_end(self, epoch, logs=None):
        seen["rates"].append(float(self.model.optimizer.learning_rate))
        if logs["loss"] < 0.08:
            self.model.stop_training = True


log = os.path.join(tempfile.mkdtemp(), "log.csv")
losses = []
history = model.fit(x, y, validation_split=0.25, epochs=25, batch_size=15, shuffle=False, verbose=0, callbacks=[
    Watch(), tf.keras.callbacks.CSVLogger(log),
    tf.keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1, min_delta=1e-2, min_lr=1e-3),
    tf.keras.callbacks.EarlyStopping(monitor="val_mae", patience=5, mode="min"),
    tf.keras.callbacks.TerminateOnNaN(),
    tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: losses.append(logs["val_loss"]))])
with open(log) as file:
    rows = list(csv.DictReader(file))
print(json.dumps({"history": {k: [float(v) for v in vs] for k, vs in history.history.items()}, "seen": seen,
                  "columns": list(rows[0]), "rows": len(rows), "same": losses == history.history["val_loss"]}))
