"""Article 004, example 5: a layer of one's own that adds a hundred products up, one after the other."""

import numpy as np
import tensorflow as tf

from pictures import report

rng = np.random.RandomState(14)


class CustomLayer(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")

    def call(self, x):
        accumulator = tf.zeros_like(x)
        for _ in range(100):
            accumulator = accumulator + tf.matmul(x, self.kernel)
        return accumulator


layer = CustomLayer(16)
x = tf.constant(rng.normal(size=(512, 16)).astype("float32"))
layer(x)
layer.set_weights([(rng.normal(size=(16, 16)) * 0.01).astype("float32")])


@tf.function
def step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(layer(batch)))
    return loss, tape.gradient(loss, layer.trainable_variables)


loss, (gradient,) = step(x)
layer.kernel.assign_sub(0.01 * gradient)
report(loss=[loss, step(x)[0]], gradient=gradient[0], out=layer(x)[0])
