"""A GAN as a model with two optimizers and a train_step."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


noise = rng.normal(size=(32, 4)).astype("float32")
real = np.tanh(rng.normal(size=(32, 6)) + 1).astype("float32")
discriminator = tf.keras.Sequential([
    tf.keras.Input((6,)), tf.keras.layers.Dense(8), tf.keras.layers.LeakyReLU(negative_slope=0.2), tf.keras.layers.Dense(1)],
    name="discriminator")
generator = tf.keras.Sequential([
    tf.keras.Input((4,)), tf.keras.layers.Dense(8, use_bias=False), tf.keras.layers.BatchNormalization(),
    tf.keras.layers.ReLU(), tf.keras.layers.Dense(6, activation="tanh")], name="generator")
fix(discriminator, 1)
fix(generator, 2)


class GAN(tf.keras.Model):
    def __init__(self, discriminator, generator):
        super().__init__()
        self.discriminator, self.generator = discriminator, generator
        self.d_loss_metric = tf.keras.metrics.Mean(name="d_loss")
        self.g_loss_metric = tf.keras.metrics.Mean(name="g_loss")

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn

    @property
    def metrics(self):
        return [self.d_loss_metric, self.g_loss_metric]

    def train_step(self, data):
        latent, images = data
        size = tf.shape(images)[0]
        fakes = self.generator(latent)
        combined = tf.concat([fakes, images], axis=0)
        labels = tf.concat([tf.ones((size, 1)), tf.zeros((size, 1))], axis=0)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(combined))
        grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_optimizer.apply_gradients(zip(grads, self.discriminator.trainable_weights))
        misleading = tf.zeros((size, 1))
        with tf.GradientTape() as tape:
            g_loss = self.loss_fn(misleading, self.discriminator(self.generator(latent, training=True)))
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply_gradients(zip(grads, self.generator.trainable_weights))
        self.d_loss_metric.update_state(d_loss)
        self.g_loss_metric.update_state(g_loss)
        return {"d_loss": self.d_loss_metric.result(), "g_loss": self.g_loss_metric.result()}


gan = GAN(discriminator, generator)
gan.compile(tf.keras.optimizers.Adam(3e-3, beta_1=0.5), tf.keras.optimizers.Adam(3e-3, beta_1=0.5),
            tf.keras.losses.BinaryCrossentropy(from_logits=True))
dataset = tf.data.Dataset.from_tensor_slices((noise, real)).batch(8)
history = gan.fit(dataset, epochs=3, verbose=0)
print(json.dumps({"history": history.history, "made": float(tf.reduce_sum(generator(noise, training=False)))}))
