"""Six transformer blocks on batches of 128 sentences of 128 words."""

import numpy as np

from common import fixed, ready, report, tf

rng = np.random.RandomState(5)
x = rng.randint(0, 1000, (128, 128))
y = (x.sum(1) % 2).astype("int32")
inputs = tf.keras.Input((128,), dtype="int32")
z = tf.keras.layers.Embedding(1000, 64)(inputs)
for _ in range(6):
    a = tf.keras.layers.MultiHeadAttention(4, 16)(z, z)
    z = tf.keras.layers.LayerNormalization()(z + a)
    f = tf.keras.layers.Dense(64)(tf.keras.layers.Dense(256, activation="relu")(z))
    z = tf.keras.layers.LayerNormalization()(z + f)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(tf.keras.layers.GlobalAveragePooling1D()(z)))
fixed(model)
model.compile(tf.keras.optimizers.SGD(0.01), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
ready()
history = model.fit(x, y, batch_size=128, epochs=2, verbose=0)
report(loss=history.history["loss"])
