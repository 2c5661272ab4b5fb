"""A variational autoencoder with a sampling layer, its noise given."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


class Sampling(tf.keras.layers.Layer):
    def call(self, inputs):
        z_mean, z_log_var, noise = inputs
        return z_mean + tf.exp(0.5 * z_log_var) * noise


class VAE(tf.keras.Model):
    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder, self.decoder = encoder, decoder
        self.total = tf.keras.metrics.Mean(name="total_loss")
        self.reconstruction = tf.keras.metrics.Mean(name="reconstruction_loss")
        self.kl = tf.keras.metrics.Mean(name="kl_loss")

    @property
    def metrics(self):
        return [self.total, self.reconstruction, self.kl]

    def train_step(self, data):
        x, noise = data
        with tf.GradientTape() as tape:
            z_mean, z_log_var, z = self.encoder([x, noise])
            reconstruction = self.decoder(z)
            reconstruction_loss = tf.reduce_mean(tf.reduce_sum(
                tf.keras.losses.binary_crossentropy(x, reconstruction), axis=(1, 2)))
            kl_loss = -0.5 * (1 + z_log_var - tf.square(z_mean) - tf.exp(z_log_var))
            kl_loss = tf.reduce_mean(tf.reduce_sum(kl_loss, axis=1))
            total = reconstruction_loss + kl_loss
        grads = tape.gradient(total, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.total.update_state(total)
        self.reconstruction.update_state(reconstruction_loss)
        self.kl.update_state(kl_loss)
        return {m.name: m.result() for m in self.metrics}


image = tf.keras.Input((8, 8, 1))
noise = tf.keras.Input((2,))
h = tf.keras.layers.Conv2D(4, 3, activation="relu", strides=2, padding="same")(image)
h = tf.keras.layers.Dense(8, activation="relu")(tf.keras.layers.Flatten()(h))
z_mean, z_log_var = tf.keras.layers.Dense(2, name="z_mean")(h), tf.keras.layers.Dense(2, name="z_log_var")(h)
encoder = tf.keras.Model([image, noise], [z_mean, z_log_var, Sampling()([z_mean, z_log_var, noise])], name="encoder")
latent = tf.keras.Input((2,))
h = tf.keras.layers.Reshape((4, 4, 4))(tf.keras.layers.Dense(64, activation="relu")(latent))
h = tf.keras.layers.Conv2DTranspose(4, 3, activation="relu", strides=2, padding="same")(h)
decoder = tf.keras.Model(latent, tf.keras.layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(h), name="decoder")
fix(encoder, 1)
fix(decoder, 2)
vae = VAE(encoder, decoder)
vae.compile(optimizer=tf.keras.optimizers.Adam(0.01))
x = (rng.rand(24, 8, 8, 1) > 0.6).astype("float32")
history = vae.fit(x, rng.normal(size=(24, 2)).astype("float32"), epochs=3, batch_size=8, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "weights": len(vae.trainable_weights)}))
