"""Data from tf.data, a generator and a Sequence."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(48, 3)).astype("float32")
y = (x.sum(axis=1, keepdims=True) > 0).astype("float32")


class Rows(tf.keras.utils.Sequence):
    def __init__(self):
        super().__init__()

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return x[i * 12:(i + 1) * 12], y[i * 12:(i + 1) * 12]


def batches():
    while True:
        for i in range(4):
            yield x[i * 12:(i + 1) * 12], y[i * 12:(i + 1) * 12]


model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(4, activation="elu"),
                             tf.keras.layers.Dense(1, activation="sigmoid")])
fix(model)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(12).prefetch(tf.data.AUTOTUNE)
first = model.fit(dataset, epochs=2, verbose=0)
second = model.fit(dataset.repeat(), epochs=2, steps_per_epoch=4, verbose=0)
third = model.fit(batches(), epochs=2, steps_per_epoch=4, verbose=0)
fourth = model.fit(Rows(), epochs=1, verbose=0, shuffle=False)
print(json.dumps({"first": first.history, "second": second.history, "third": third.history,
                  "fourth": fourth.history, "evaluate": model.evaluate(dataset, verbose=0)}))
