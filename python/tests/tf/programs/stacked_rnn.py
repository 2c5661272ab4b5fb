"""Cells in a stack, states in and out, and a custom cell."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


class Minimal(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units, self.state_size = units, units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), initializer="uniform", name="kernel")
        self.recurrent = self.add_weight(shape=(self.units, self.units), initializer="uniform", name="recurrent")
        self.built = True

    def call(self, inputs, states):
        h = tf.tanh(tf.matmul(inputs, self.kernel) + tf.matmul(states[0], self.recurrent))
        return h, [h]


x = rng.normal(size=(20, 6, 3)).astype("float32")
y = rng.normal(size=(20, 6, 2)).astype("float32")
inputs = tf.keras.Input((6, 3))
h = tf.keras.layers.RNN(Minimal(5), return_sequences=True)(inputs)
h, last = tf.keras.layers.GRU(4, return_sequences=True, return_state=True)(h)
h = tf.keras.layers.LSTM(4, return_sequences=True)(h, initial_state=[last, last])
model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(h))
fix(model)
model.compile(tf.keras.optimizers.Adagrad(0.1), "mae")
history = model.fit(x, y, epochs=3, batch_size=5, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "predict": model.predict(x[:1], verbose=0)[0].tolist()}))
