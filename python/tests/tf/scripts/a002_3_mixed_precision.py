"""Article 002, example 3: a policy of mixed precision, as it was spelt before TensorFlow 2.4 (gone from 2.21)."""

import numpy as np
import tensorflow as tf

from pictures import report

mixed_precision = tf.keras.mixed_precision.experimental.Policy("mixed_float16")
tf.keras.mixed_precision.experimental.set_policy(mixed_precision)
rng = np.random.RandomState(12)
model = tf.keras.Sequential([
    tf.keras.Input((32,)), tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1, dtype="float32")])
model.set_weights([(rng.normal(size=w.shape) * 0.1).astype("float32") for w in model.get_weights()])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
x = rng.normal(size=(256, 32)).astype("float32")
history = model.fit(x, x[:, :1], batch_size=64, epochs=4, shuffle=False, verbose=0)
assert model.layers[0].compute_dtype == "float16" and model.layers[0].dtype == "float32"
assert history.history["loss"][-1] < history.history["loss"][0]
report(loss=history.history["loss"])
