"""Principal components by an SVD, pictures rebuilt from a few of them, and a classifier on the components."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)
basis = rng.normal(size=(4, 36)).astype("float32")
codes = rng.normal(size=(80, 4)).astype("float32") * np.array([4, 3, 2, 1], "float32")
data = tf.constant(codes @ basis + 0.05 * rng.normal(size=(80, 36)).astype("float32"))
centred = data - tf.reduce_mean(data, axis=0)
s, u, v = tf.linalg.svd(centred)
shares = tf.square(s) / tf.reduce_sum(tf.square(s))
kept = tf.matmul(centred, v[:, :4])
rebuilt = tf.matmul(kept, v[:, :4], transpose_b=True)
error = tf.reduce_mean(tf.square(rebuilt - centred))
labels = (codes[:, 0] > 0).astype("float32")
features = tf.abs(kept).numpy()
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, activation="sigmoid", kernel_initializer="zeros")])
model.compile(tf.keras.optimizers.SGD(0.01), "binary_crossentropy")
history = model.fit(features, labels, epochs=5, batch_size=16, shuffle=False, verbose=0)
print(json.dumps({"shares": shares.numpy()[:6].tolist(), "error": float(error), "loss": history.history["loss"]}))
