"""Convolutions over raw audio: a second at 16 kHz, 64 at a time."""

from common import fixed, ready, report, sequences, tf

x, y = sequences(64, 16000, 1)
model = tf.keras.Sequential([tf.keras.Input((16000, 1))])
for dilation in (1, 2, 4, 8, 16, 32):
    model.add(tf.keras.layers.Conv1D(32, 3, padding="same", dilation_rate=dilation, activation="relu"))
model.add(tf.keras.layers.GlobalAveragePooling1D())
model.add(tf.keras.layers.Dense(1))
fixed(model)
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
ready()
history = model.fit(x, y, batch_size=64, epochs=1, verbose=0)
report(loss=history.history["loss"])
