"""Two GRU layers that give their sequences, over 300 steps."""

from common import fixed, ready, report, sequences, tf

x, y = sequences(640, 300, 8)
model = tf.keras.Sequential([
    tf.keras.Input((300, 8)), tf.keras.layers.GRU(64, return_sequences=True), tf.keras.layers.GRU(64),
    tf.keras.layers.Dense(1)])
fixed(model)
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
ready()
history = model.fit(x, y, batch_size=640, epochs=2, verbose=0)
report(loss=history.history["loss"])
