"""A deep autoencoder over a quarter of a million rows at a time."""

from common import fixed, ready, report, rows, tf

x, _ = rows(1 << 18, 32, 2)
inputs = tf.keras.Input((32,))
z = inputs
for width in (256, 192, 128, 64, 16, 64, 128, 192, 256):
    z = tf.keras.layers.Dense(width, activation="tanh")(z)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(32)(z))
fixed(model)
model.compile(tf.keras.optimizers.RMSprop(1e-4), "mse")
ready()
history = model.fit(x, x, batch_size=len(x), epochs=1, verbose=0)
report(loss=history.history["loss"], evaluated=model.evaluate(x, x, batch_size=len(x), verbose=0))
