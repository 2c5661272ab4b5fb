"""A language model's last layer: the logits of 12,288 words over a vocabulary of 20,000."""

import numpy as np

from common import fixed, ready, report, tf

rng = np.random.RandomState(7)
x = rng.randint(0, 20000, (192, 64))
y = np.roll(x, -1, 1)
model = tf.keras.Sequential([
    tf.keras.Input((64,), dtype="int32"), tf.keras.layers.Embedding(20000, 32),
    tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(20000)])
fixed(model)
model.compile(tf.keras.optimizers.SGD(0.1), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
ready()
history = model.fit(x, y, batch_size=192, epochs=1, verbose=0)
report(loss=history.history["loss"])
