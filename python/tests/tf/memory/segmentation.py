"""A segmentation network at full resolution: 256 x 256 pictures with 16 channels, ten layers deep."""

from common import fixed, pictures, ready, report, tf

x, _ = pictures(16, 256)
y = (x.mean(-1, keepdims=True) > 0.5).astype("float32")
inputs = tf.keras.Input((256, 256, 3))
z = inputs
for _ in range(10):
    z = tf.keras.layers.Conv2D(16, 3, padding="same", activation="relu")(z)
model = tf.keras.Model(inputs, tf.keras.layers.Conv2D(1, 1, activation="sigmoid")(z))
fixed(model)
model.compile(tf.keras.optimizers.Adam(1e-3), "binary_crossentropy")
ready()
history = model.fit(x, y, batch_size=16, epochs=1, verbose=0)
report(loss=history.history["loss"])
