"""A GAN with a loop of its own: two tapes, two optimizers, a tf.function."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


generator = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8, activation="relu"),
                                 tf.keras.layers.Dense(6, activation="tanh")])
discriminator = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(8), tf.keras.layers.LeakyReLU(),
                                     tf.keras.layers.Dense(1)])
fix(generator, 1)
fix(discriminator, 2)
entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
g_optimizer, d_optimizer = tf.keras.optimizers.Adam(1e-2), tf.keras.optimizers.Adam(1e-2)


@tf.function
def step(real, noise):
    with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
        fake = generator(noise, training=True)
        real_out, fake_out = discriminator(real, training=True), discriminator(fake, training=True)
        g_loss = entropy(tf.ones_like(fake_out), fake_out)
        d_loss = entropy(tf.ones_like(real_out), real_out) + entropy(tf.zeros_like(fake_out), fake_out)
    g_gradients = g_tape.gradient(g_loss, generator.trainable_variables)
    d_gradients = d_tape.gradient(d_loss, discriminator.trainable_variables)
    g_optimizer.apply_gradients(zip(g_gradients, generator.trainable_variables))
    d_optimizer.apply_gradients(zip(d_gradients, discriminator.trainable_variables))
    return g_loss, d_loss


losses = []
for _ in range(12):
    real = rng.normal(size=(16, 6)).astype("float32")
    noise = rng.normal(size=(16, 4)).astype("float32")
    losses.append([float(v) for v in step(tf.constant(real), tf.constant(noise))])
print(json.dumps({"losses": losses}))
