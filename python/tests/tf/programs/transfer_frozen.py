"""Transfer: a base that is frozen, then freed for fine-tuning."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(64, 10)).astype("float32")
y = rng.randint(0, 2, size=64)
base = tf.keras.Sequential([tf.keras.Input((10,)), tf.keras.layers.Dense(12, activation="relu"),
                            tf.keras.layers.BatchNormalization()], name="base")
base.trainable = False
inputs = tf.keras.Input((10,))
outputs = tf.keras.layers.Dense(1)(base(inputs, training=False))
model = tf.keras.Model(inputs, outputs)
fix(model)
before = base.get_weights()[0].copy()
model.compile(tf.keras.optimizers.Adam(0.01), tf.keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
first = model.fit(x, y, epochs=2, batch_size=16, shuffle=False, verbose=0)
same = bool(np.array_equal(before, base.get_weights()[0]))
trained = len(model.trainable_weights)
base.trainable = True
model.compile(tf.keras.optimizers.Adam(0.001), tf.keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
second = model.fit(x, y, epochs=2, batch_size=16, shuffle=False, verbose=0)
print(json.dumps({"first": first.history, "same": same, "trained": trained, "now": len(model.trainable_weights),
                  "second": second.history}))
