"""evaluate() with everything in one batch, with metrics."""

from common import fixed, pictures, ready, report, tf

x, y = pictures(4096, 32)
model = tf.keras.Sequential([
    tf.keras.Input((32, 32, 3)), tf.keras.layers.Conv2D(32, 3, padding="same"), tf.keras.layers.BatchNormalization(),
    tf.keras.layers.ReLU(), tf.keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(10, activation="softmax")])
fixed(model)
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
ready()
found = model.evaluate(x, y, batch_size=len(x), verbose=0, return_dict=True)
report(**found)
