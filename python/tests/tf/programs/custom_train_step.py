"""A model with a train_step and a test_step of its own."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


class Custom(tf.keras.Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tracker = tf.keras.metrics.Mean(name="loss")
        self.mae = tf.keras.metrics.MeanAbsoluteError(name="mae")

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = tf.reduce_mean(tf.square(y - y_pred))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.tracker.update_state(loss)
        self.mae.update_state(y, y_pred)
        return {"loss": self.tracker.result(), "mae": self.mae.result()}

    def test_step(self, data):
        x, y = data
        y_pred = self(x, training=False)
        self.mae.update_state(y, y_pred)
        return {"mae": self.mae.result()}

    @property
    def metrics(self):
        return [self.tracker, self.mae]


x = rng.normal(size=(48, 6)).astype("float32")
y = rng.normal(size=(48, 1)).astype("float32")
inputs = tf.keras.Input((6,))
model = Custom(inputs, tf.keras.layers.Dense(1)(tf.keras.layers.Dense(5, activation="tanh")(inputs)))
fix(model)
model.compile(optimizer=tf.keras.optimizers.Adam(0.02))
history = model.fit(x, y, epochs=3, batch_size=12, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "test": model.evaluate(x, y, verbose=0, return_dict=True)}))
