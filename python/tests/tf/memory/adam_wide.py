"""Adam on a wide layer: weights, two moments and gradients of 160 MiB each."""

import numpy as np

from common import ready, report, tf

x = np.linspace(-1, 1, 64 * 512).reshape(64, 512).astype("float32")
y = x.sum(1, keepdims=True)
model = tf.keras.Sequential([
    tf.keras.Input((512,)),
    tf.keras.layers.Dense(6400, activation="tanh", kernel_initializer=tf.keras.initializers.Constant(0.001)),
    tf.keras.layers.Dense(6400, activation="tanh", kernel_initializer=tf.keras.initializers.Constant(0.0001)),
    tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.Constant(0.001))])
model.compile(tf.keras.optimizers.Adam(1e-5), "mse")
ready()
history = model.fit(x, y, batch_size=64, epochs=3, verbose=0)
report(loss=history.history["loss"])
