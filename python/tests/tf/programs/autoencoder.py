"""A subclassed autoencoder: encoder and decoder are Sequential models."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


class Autoencoder(tf.keras.Model):
    def __init__(self, latent):
        super().__init__()
        self.encoder = tf.keras.Sequential([
            tf.keras.layers.Flatten(), tf.keras.layers.Dense(latent, activation="relu")])
        self.decoder = tf.keras.Sequential([
            tf.keras.layers.Dense(36, activation="sigmoid"), tf.keras.layers.Reshape((6, 6))])

    def call(self, x):
        return self.decoder(self.encoder(x))


x = rng.uniform(size=(64, 6, 6)).astype("float32")
model = Autoencoder(8)
model.compile(optimizer="adam", loss=tf.keras.losses.MeanSquaredError())
model(x[:1])
fix(model)
history = model.fit(x, x, epochs=4, batch_size=16, shuffle=False, verbose=0)
code = model.encoder(x[:2]).numpy()
print(json.dumps({"history": history.history, "code": code.tolist(), "decoded": model.decoder(code).numpy()[0, 0].tolist()}))
