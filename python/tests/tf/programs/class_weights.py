"""Imbalanced classes: class weights, sample weights, precision and recall."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(100, 5)).astype("float32")
y = (x[:, 0] > 1).astype("int32")
model = tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(8, activation="relu"),
                             tf.keras.layers.Dense(1, activation="sigmoid")])
fix(model)
model.compile(tf.keras.optimizers.Adam(0.01), tf.keras.losses.BinaryCrossentropy(),
              metrics=[tf.keras.metrics.Precision(name="precision"), tf.keras.metrics.Recall(name="recall")],
              weighted_metrics=["accuracy"])
first = model.fit(x, y, epochs=3, batch_size=25, class_weight={0: 1.0, 1: 5.0}, shuffle=False, verbose=0)
weights = np.where(y == 1, 3.0, 1.0).astype("float32")
second = model.fit(x, y, epochs=2, batch_size=25, sample_weight=weights, shuffle=False, verbose=0)
print(json.dumps({"first": first.history, "second": second.history}))
