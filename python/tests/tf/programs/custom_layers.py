"""Layers, losses and metrics of one's own, with add_loss."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


class Linear(tf.keras.layers.Layer):
    def __init__(self, units=4):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True)
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=True)

    def call(self, inputs):
        self.add_loss(1e-2 * tf.reduce_sum(inputs**2) / 100)
        return tf.matmul(inputs, self.w) + self.b


class Ratio(tf.keras.metrics.Metric):
    def __init__(self, name="ratio", **kwargs):
        super().__init__(name=name, **kwargs)
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(tf.reduce_sum(tf.cast(y_pred > 0, tf.float32)))
        self.count.assign_add(tf.cast(tf.size(y_pred), tf.float32))

    def result(self):
        return self.total / self.count


def pinball(y_true, y_pred):
    error = y_true - y_pred
    return tf.reduce_mean(tf.maximum(0.3 * error, -0.7 * error), axis=-1)


x = rng.normal(size=(40, 3)).astype("float32")
y = rng.normal(size=(40, 1)).astype("float32")
model = tf.keras.Sequential([tf.keras.Input((3,)), Linear(5), tf.keras.layers.ReLU(), Linear(1)])
fix(model)
model.compile("sgd", loss=pinball, metrics=[Ratio(), "mae"])
history = model.fit(x, y, epochs=3, batch_size=8, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "losses": len(model.losses)}))
