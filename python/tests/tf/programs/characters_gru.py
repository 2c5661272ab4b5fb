"""Characters one after the other: a GRU whose state is carried along."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


text = "the quick brown fox jumps over the lazy dog. the dog sleeps and the fox runs. " * 4
vocabulary = sorted(set(text))
to_ids = tf.keras.layers.StringLookup(vocabulary=list(vocabulary), mask_token=None)
to_chars = tf.keras.layers.StringLookup(vocabulary=to_ids.get_vocabulary(), invert=True, mask_token=None)
ids = to_ids(tf.strings.unicode_split(text, "UTF-8"))
sequences = tf.data.Dataset.from_tensor_slices(ids).batch(21, drop_remainder=True)
dataset = sequences.map(lambda s: (s[:-1], s[1:])).batch(4, drop_remainder=True)


class Writer(tf.keras.Model):
    def __init__(self, size):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(size, 8)
        self.gru = tf.keras.layers.GRU(12, return_sequences=True, return_state=True)
        self.dense = tf.keras.layers.Dense(size)

    def call(self, inputs, states=None, return_state=False, training=False):
        x = self.embedding(inputs, training=training)
        if states is None:
            states = self.gru.get_initial_state(tf.shape(x)[0])
            states = states[0] if isinstance(states, (list, tuple)) else states
        x, states = self.gru(x, initial_state=states, training=training)
        x = self.dense(x, training=training)
        return (x, states) if return_state else x


model = Writer(len(to_ids.get_vocabulary()))
for a, b in dataset.take(1):
    shape = list(model(a).shape)
fix(model)
model.compile(optimizer=tf.keras.optimizers.Adam(0.02), loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(dataset, epochs=3, verbose=0)
current, states, written = to_ids(tf.constant([["t", "h", "e"]])), None, []
for _ in range(8):
    logits, states = model(current, states=states, return_state=True)
    current = tf.argmax(logits[:, -1:, :], axis=-1)
    written.append(current)
found = tf.strings.join([to_chars(tf.squeeze(c)) for c in written])
print(json.dumps({"history": history.history, "shape": shape, "ids": [int(c[0, 0]) for c in written],
                  "same_length": len(found.numpy().decode()), "vocabulary": len(vocabulary)}))
