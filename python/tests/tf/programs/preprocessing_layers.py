"""Lookups, categories and text as numbers."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


text = tf.keras.layers.TextVectorization(max_tokens=12, output_sequence_length=5)
text.adapt(["the cat sat", "the dog sat down", "a cat"])
words = text(["the cat ran", "A dog, down!"]).numpy()
lookup = tf.keras.layers.StringLookup(vocabulary=["a", "b", "c"])
back = tf.keras.layers.StringLookup(vocabulary=["a", "b", "c"], invert=True)
integers = tf.keras.layers.IntegerLookup(vocabulary=[10, 20, 30])
onehot = tf.keras.layers.CategoryEncoding(num_tokens=4, output_mode="one_hot")
multi = tf.keras.layers.CategoryEncoding(num_tokens=4, output_mode="multi_hot")
bins = tf.keras.layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0])
print(json.dumps({
    "vocabulary": text.get_vocabulary(), "words": words.tolist(),
    "lookup": lookup(tf.constant([["a", "z"], ["c", "b"]])).numpy().tolist(),
    "back": [v.decode() for v in back(tf.constant([1, 3, 0])).numpy()],
    "integers": integers(np.array([10, 99, 30])).numpy().tolist(),
    "onehot": np.asarray(onehot(np.array([3, 0]))).tolist(), "multi": np.asarray(multi(np.array([[0, 1], [2, 2]]))).tolist(),
    "bins": np.asarray(bins(np.array([[-1.0, 0.5], [1.5, 9.0]], "float32"))).tolist(),
}))
