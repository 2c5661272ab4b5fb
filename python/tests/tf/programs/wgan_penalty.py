"""A Wasserstein GAN with a gradient penalty: convolutions, leaky ReLU and tanh under two tapes, in a traced step."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


generator = tf.keras.Sequential([
    tf.keras.Input((4,)), tf.keras.layers.Dense(4 * 4 * 4), tf.keras.layers.LeakyReLU(negative_slope=0.2),
    tf.keras.layers.Reshape((4, 4, 4)), tf.keras.layers.Conv2DTranspose(1, 3, strides=2, padding="same", activation="tanh")])
critic = tf.keras.Sequential([
    tf.keras.Input((8, 8, 1)), tf.keras.layers.Conv2D(6, 3, strides=2, padding="same"),
    tf.keras.layers.LeakyReLU(negative_slope=0.2), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
fix(generator, 1)
fix(critic, 2)
g_optimizer, c_optimizer = tf.keras.optimizers.SGD(0.05), tf.keras.optimizers.SGD(0.05)


@tf.function
def step(real, noise, mix):
    fake = generator(noise)
    with tf.GradientTape() as tape:
        between = real * mix + fake * (1.0 - mix)
        with tf.GradientTape() as inner:
            inner.watch(between)
            score = critic(between)
        slopes = inner.gradient(score, between)
        norms = tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=[1, 2, 3]) + 1e-12)
        penalty = tf.reduce_mean(tf.square(norms - 1.0))
        c_loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real)) + 10.0 * penalty
    c_optimizer.apply_gradients(zip(tape.gradient(c_loss, critic.trainable_variables), critic.trainable_variables))
    with tf.GradientTape() as tape:
        g_loss = -tf.reduce_mean(critic(generator(noise)))
    g_optimizer.apply_gradients(zip(tape.gradient(g_loss, generator.trainable_variables), generator.trainable_variables))
    return c_loss, g_loss, penalty


losses = []
for _ in range(6):
    real = tf.constant(rng.uniform(-1, 1, (8, 8, 8, 1)).astype("float32"))
    noise = tf.constant(rng.normal(size=(8, 4)).astype("float32"))
    mix = tf.constant(rng.uniform(size=(8, 1, 1, 1)).astype("float32"))
    losses.append([float(each) for each in step(real, noise, mix)])
print(json.dumps({"losses": losses}))
