"""A subclassed model with a list of blocks of its own."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


class Block(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = tf.keras.layers.Dense(units, activation="relu")
        self.norm = tf.keras.layers.BatchNormalization()

    def call(self, x, training=False):
        return x + self.norm(self.dense(x), training=training)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.blocks = [Block(6) for _ in range(3)]
        self.head = tf.keras.layers.Dense(1)

    def call(self, x, training=False):
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(x)


x = rng.normal(size=(48, 6)).astype("float32")
y = rng.normal(size=(48, 1)).astype("float32")
model = Net()
model(x[:2])
fix(model)
model.compile("adam", "mse")
history = model.fit(x, y, epochs=3, batch_size=12, shuffle=False, verbose=0, validation_data=(x[:12], y[:12]))
print(json.dumps({"history": history.history, "weights": len(model.weights), "trainable": len(model.trainable_weights),
                  "training": model(x[:4], training=True).numpy().ravel().tolist()}))
