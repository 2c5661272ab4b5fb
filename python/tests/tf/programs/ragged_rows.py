"""Rows of different lengths: operators, functions, reductions, slices, lookups and strings."""

import json

import numpy as np
import tensorflow as tf

r = tf.ragged.constant([[3, 1, 4, 1], [], [5, 9, 2], [6], []])
words = tf.ragged.constant([["So", "long"], ["thanks", "for", "all", "the", "fish"]])
table = tf.Variable(np.arange(12.0).reshape(6, 2), dtype=tf.float32)


def shown(x):
    found = x.to_list() if hasattr(x, "to_list") else x.numpy().tolist()
    return json.loads(json.dumps(found, default=lambda each: each.decode()))


found = {
    "add": tf.add(r, 3), "operators": 2 + r * 3 - 1, "both": r * r, "compare": r > 2, "square": tf.map_fn(tf.math.square, r),
    "cast": tf.cast(r, tf.float32) / 2.0, "sum": tf.reduce_sum(r, axis=1), "all": tf.reduce_sum(r),
    "mean": tf.reduce_mean(tf.cast(r[:1], tf.float32), axis=1), "first": r[:, :2], "last": r[:, -2:], "row": r[2],
    "joined": tf.concat([r, [[5, 3]] * 5], axis=1), "below": tf.concat([r, tf.ragged.constant([[7]])], axis=0),
    "tiled": tf.tile(words, [1, 2]), "parts": tf.strings.substr(words, 0, 2), "upper": tf.strings.upper(words),
    "sentences": tf.strings.reduce_join(words, axis=-1, separator=" "), "lengths": tf.strings.length(words),
    "rows": tf.nn.embedding_lookup(table, tf.ragged.constant([[1, 2], [3]])),
    "means": tf.reduce_mean(tf.nn.embedding_lookup(table, tf.ragged.constant([[1, 2], [3]])), axis=1),
    "stacked": tf.stack([r, r]), "padded": r.to_tensor(default_value=-1),
    "other encoding": tf.strings.unicode_transcode(["hi"], "UTF-8", "UTF-16-BE"),
}
print(json.dumps({key: shown(value) for key, value in found.items()}))
