"""A bidirectional LSTM over padded sequences, with masking."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.randint(1, 30, size=(40, 8))
for i in range(40):
    x[i, 3 + i % 5:] = 0
y = (x[:, 0] > 15).astype("int32")
inputs = tf.keras.Input(shape=(8,), dtype="int32")
h = tf.keras.layers.Embedding(30, 6, mask_zero=True)(inputs)
h = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(5, return_sequences=True))(h)
h = tf.keras.layers.GRU(4)(h)
outputs = tf.keras.layers.Dense(2)(h)
model = tf.keras.Model(inputs, outputs)
fix(model)
model.compile("rmsprop", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
history = model.fit(x, y, epochs=3, batch_size=10, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "predict": model.predict(x[:3], verbose=0).tolist()}))
