"""Arrays that a script makes after its model: what was free when the model was made is not free any more."""

import numpy as np

from common import fixed, ready, report, rows, tf

model = tf.keras.Sequential(
    [tf.keras.Input((16,))] + [tf.keras.layers.Dense(64, activation="relu") for _ in range(9)] + [tf.keras.layers.Dense(1)])
fixed(model)
model.compile(tf.keras.optimizers.Adam(1e-3), "mse")
before = model.predict(np.ones((2, 16), "float32"), verbose=0)
kept = np.ones((200, 1 << 18), "float32")
x, y = rows(1 << 19, 16, 10)
ready()
history = model.fit(x, y, batch_size=len(x), epochs=1, verbose=0)
report(before=before, loss=history.history["loss"], kept=[kept.sum()])
