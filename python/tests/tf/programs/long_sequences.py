"""Recurrent layers over many steps: masked, in both directions, backwards, with states that go on."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(8)
words = rng.randint(1, 30, (24, 40))
for row, length in enumerate(rng.randint(12, 41, 24)):
    words[row, length:] = 0
labels = (words[:, 0] > 15).astype("float32")
inputs = tf.keras.Input((40,), dtype="int32")
z = tf.keras.layers.Embedding(30, 6, mask_zero=True)(inputs)
z = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(5, return_sequences=True))(z)
z, last = tf.keras.layers.GRU(7, return_sequences=True, return_state=True)(z)
back = tf.keras.layers.SimpleRNN(4, go_backwards=True, zero_output_for_mask=True)(z)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, activation="sigmoid")(tf.keras.layers.Concatenate()([last, back])))
model.set_weights([(rng.normal(size=w.shape) * 0.3).astype("float32") for w in model.get_weights()])
model.compile(tf.keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
history = model.fit(words, labels, batch_size=8, epochs=3, shuffle=False, verbose=0)
layer = tf.keras.layers.LSTM(5, return_sequences=True, return_state=True)
x = tf.constant(rng.normal(size=(3, 20, 4)).astype("float32"))
layer(x)
layer.set_weights([(rng.normal(size=w.shape) * 0.3).astype("float32") for w in layer.get_weights()])
whole, h, c = layer(x)
first, h1, c1 = layer(x[:, :9])
rest, h2, c2 = layer(x[:, 9:], initial_state=[h1, c1])
print(json.dumps({
    "history": history.history, "predicted": model.predict(words[:4], verbose=0)[:, 0].tolist(),
    "state": c.numpy()[0].tolist(), "gap": float(tf.reduce_max(tf.abs(tf.concat([first, rest], 1) - whole)) < 1e-5),
    "last": whole.numpy()[1, -1].tolist()}))
