"""An autoencoder as a subclassed model; what it cannot rebuild is an anomaly."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


normal = (np.sin(np.linspace(0, 6, 20))[None] + 0.1 * rng.normal(size=(60, 20))).astype("float32")
strange = (np.cos(np.linspace(0, 9, 20))[None] * 0.7 + 0.1 * rng.normal(size=(20, 20))).astype("float32")
low, high = tf.reduce_min(normal), tf.reduce_max(normal)
normal, strange = (tf.cast((each - low) / (high - low), tf.float32) for each in (normal, strange))


class Detector(tf.keras.models.Model):
    def __init__(self):
        super().__init__()
        self.encoder = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="relu"), tf.keras.layers.Dense(4, activation="relu")])
        self.decoder = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="relu"), tf.keras.layers.Dense(20, activation="sigmoid")])

    def call(self, x):
        return self.decoder(self.encoder(x))


model = Detector()
model(normal[:1])
fix(model)
model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss="mae")
history = model.fit(normal[:48], normal[:48], epochs=10, batch_size=16, validation_data=(normal[48:], normal[48:]),
                    shuffle=False, verbose=0)
train_loss = tf.keras.losses.mae(model.predict(normal[:48], verbose=0), normal[:48])
threshold = np.mean(train_loss) + np.std(train_loss)


def is_normal(data):
    return tf.math.less(tf.keras.losses.mae(model(data), data), threshold)


print(json.dumps({"history": history.history, "threshold": float(threshold),
                  "normal": int(tf.math.count_nonzero(is_normal(normal[48:]))),
                  "strange": int(tf.math.count_nonzero(is_normal(strange))),
                  "code": model.encoder(normal[:1]).numpy().round(5).tolist()}))
