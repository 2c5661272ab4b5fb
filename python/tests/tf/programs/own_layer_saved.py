"""Layers of one's own with configurations and penalties, written and read again."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


import os
import tempfile


@tf.keras.utils.register_keras_serializable(package="Own")
class Gated(tf.keras.layers.Layer):
    def __init__(self, units, rate=0.01, activation=None, **kwargs):
        super().__init__(**kwargs)
        self.units, self.rate = units, rate
        self.activation = tf.keras.activations.get(activation)

    def build(self, input_shape):
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], self.units), initializer="he_normal",
                                      regularizer=tf.keras.regularizers.L2(1e-3))
        self.gate = self.add_weight(name="gate", shape=(self.units,), initializer="zeros")
        self.calls = self.add_weight(name="calls", shape=(), initializer="zeros", trainable=False)

    def call(self, inputs, training=False):
        made = self.activation(inputs @ self.kernel) * tf.sigmoid(self.gate)
        self.add_loss(self.rate * tf.reduce_mean(tf.abs(made)))
        if training:
            self.calls.assign_add(1.0)
        return made

    def get_config(self):
        config = super().get_config()
        config.update({"units": self.units, "rate": self.rate, "activation": tf.keras.activations.serialize(self.activation)})
        return config


x = rng.normal(size=(32, 5)).astype("float32")
y = np.sin(x.sum(1, keepdims=True)).astype("float32")
inputs = tf.keras.Input((5,))
h = Gated(12, activation="swish", name="gated")(inputs)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(h))
fix(model)
model.compile(tf.keras.optimizers.AdamW(0.02, weight_decay=0.01), "mse")
history = model.fit(x, y, epochs=4, batch_size=8, shuffle=False, verbose=0)
path = os.path.join(tempfile.mkdtemp(), "model.keras")
model.save(path)
again = tf.keras.models.load_model(path)
more = again.fit(x, y, epochs=1, batch_size=8, shuffle=False, verbose=0)
copy = tf.keras.models.clone_model(model)
copy.set_weights(model.get_weights())
print(json.dumps({"history": history.history, "more": more.history, "losses": len(model.losses),
                  "calls": [float(model.get_layer("gated").calls.numpy()), float(again.get_layer("gated").calls.numpy())],
                  "copy": float(tf.reduce_max(tf.abs(copy(x) - model(x)))),
                  "config": {k: v for k, v in again.get_layer("gated").get_config().items() if k in ("units", "rate", "activation")}}))
