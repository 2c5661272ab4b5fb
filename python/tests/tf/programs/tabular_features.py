"""A table with numbers and categories: lookups, normalisation, concatenation."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


age = rng.uniform(20, 70, size=(48, 1)).astype("float32")
kind = rng.choice([10, 20, 30], size=(48, 1))
y = (age[:, 0] > 45).astype("float32")
normalizer = tf.keras.layers.Normalization(axis=None)
normalizer.adapt(age)
lookup = tf.keras.layers.IntegerLookup(vocabulary=[10, 20, 30], output_mode="one_hot")
encoded = np.asarray(lookup(kind)).astype("float32")
inputs = {"age": tf.keras.Input((1,), name="age"), "kind": tf.keras.Input((4,), name="kind")}
h = tf.keras.layers.Concatenate()([normalizer(inputs["age"]), inputs["kind"]])
outputs = tf.keras.layers.Dense(1, activation="sigmoid")(tf.keras.layers.Dense(6, activation="relu")(h))
model = tf.keras.Model(inputs, outputs)
draw = np.random.RandomState(2)
for layer in model.layers:
    if isinstance(layer, tf.keras.layers.Dense):
        layer.set_weights([(draw.normal(size=w.shape) * 0.3).astype("float32") for w in layer.get_weights()])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
data = tf.data.Dataset.from_tensor_slices(({"age": age, "kind": encoded}, y)).batch(12)
history = model.fit(data, epochs=3, verbose=0)
print(json.dumps({"history": history.history, "encoded": encoded[:3].tolist(),
                  "predict": model.predict({"age": age[:2], "kind": encoded[:2]}, verbose=0).tolist()}))
