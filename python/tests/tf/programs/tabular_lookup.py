"""A table with words, numbers and buckets: lookups and encodings before a model."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


n = 60
kinds = np.array(["red", "green", "blue", "gray"])
table = {"kind": rng.choice(kinds, (n, 1)), "age": rng.randint(1, 90, (n, 1)).astype("float32"),
         "price": (rng.rand(n, 1) * 50).astype("float32"), "rooms": rng.randint(1, 6, (n, 1)).astype("int64")}
target = ((table["price"] > 25) | (table["kind"] == "red")).astype("float32")
lookup = tf.keras.layers.StringLookup(vocabulary=["red", "green", "blue"], output_mode="one_hot")
rooms = tf.keras.layers.IntegerLookup(vocabulary=[1, 2, 3, 4], output_mode="int")
buckets = tf.keras.layers.Discretization(bin_boundaries=[18.0, 40.0, 65.0])
normal = tf.keras.layers.Normalization(axis=None)
normal.adapt(table["price"])


def features(row, label):
    parts = [tf.cast(lookup(row["kind"]), tf.float32), tf.one_hot(tf.squeeze(buckets(row["age"]), -1), 4),
             tf.one_hot(tf.squeeze(rooms(row["rooms"]), -1), 5), normal(row["price"])]
    return tf.concat(parts, axis=-1), label


dataset = tf.data.Dataset.from_tensor_slices((table, target)).batch(12).map(features)
width = dataset.element_spec[0].shape[-1]
model = tf.keras.Sequential([tf.keras.Input((14,)), tf.keras.layers.Dense(8, activation="selu"),
                             tf.keras.layers.Dense(1, activation="sigmoid")])
fix(model)
model.compile("nadam", "binary_crossentropy", metrics=["accuracy"])
history = model.fit(dataset, epochs=4, verbose=0)
first = next(iter(dataset))[0]
print(json.dumps({"history": history.history, "row": first[0].numpy().tolist(), "vocabulary": lookup.get_vocabulary(),
                  "mean": float(np.ravel(normal.mean)[0]), "shape": list(first.shape)}))
