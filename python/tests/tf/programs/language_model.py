"""The next character of a text, at every step, and a text that is made of it."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


text = "the cat sat on the mat and the dog sat on the log. " * 4
letters = sorted(set(text))
ids = np.array([letters.index(c) for c in text])
x = np.stack([ids[i:i + 12] for i in range(0, 180, 3)])
y = np.stack([ids[i + 1:i + 13] for i in range(0, 180, 3)])
model = tf.keras.Sequential([tf.keras.Input((12,), dtype="int32"), tf.keras.layers.Embedding(len(letters), 8),
                             tf.keras.layers.GRU(16, return_sequences=True), tf.keras.layers.Dense(len(letters))])
fix(model)
model.compile(tf.keras.optimizers.SGD(0.5), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])
history = model.fit(x, y, epochs=4, batch_size=20, shuffle=False, verbose=0)
logits = model.predict(x[:1], verbose=0)
print(json.dumps({"history": history.history, "logits": logits[0, -1].tolist()}))
