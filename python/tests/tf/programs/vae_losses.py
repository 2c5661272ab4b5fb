"""A variational autoencoder without noise: its own losses in train_step."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


class VAE(tf.keras.Model):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.total = tf.keras.metrics.Mean(name="total")
        self.kl = tf.keras.metrics.Mean(name="kl")

    @property
    def metrics(self):
        return [self.total, self.kl]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            mean, log_var = self.encoder(data)
            z = mean + tf.exp(0.5 * log_var) * 0.1
            again = self.decoder(z)
            rebuilt = tf.reduce_mean(tf.reduce_sum(tf.keras.losses.binary_crossentropy(data, again)[:, tf.newaxis], axis=1))
            kl = tf.reduce_mean(tf.reduce_sum(-0.5 * (1 + log_var - tf.square(mean) - tf.exp(log_var)), axis=1))
            total = rebuilt + kl
        gradients = tape.gradient(total, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights))
        self.total.update_state(total)
        self.kl.update_state(kl)
        return {"total": self.total.result(), "kl": self.kl.result()}


x = rng.uniform(size=(48, 10)).astype("float32")
inputs = tf.keras.Input((10,))
h = tf.keras.layers.Dense(8, activation="relu")(inputs)
encoder = tf.keras.Model(inputs, [tf.keras.layers.Dense(2)(h), tf.keras.layers.Dense(2)(h)])
latent = tf.keras.Input((2,))
decoder = tf.keras.Model(latent, tf.keras.layers.Dense(10, activation="sigmoid")(
    tf.keras.layers.Dense(8, activation="relu")(latent)))
fix(encoder, 1)
fix(decoder, 2)
model = VAE(encoder, decoder)
model.compile(optimizer=tf.keras.optimizers.Adam(0.01))
history = model.fit(x, epochs=4, batch_size=12, shuffle=False, verbose=0)
print(json.dumps({"history": history.history}))
