"""Denoising with convolutions and transposed convolutions."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


clean = rng.uniform(size=(32, 8, 8, 1)).astype("float32")
noisy = np.clip(clean + 0.2 * rng.normal(size=clean.shape), 0, 1).astype("float32")
inputs = tf.keras.Input((8, 8, 1))
h = tf.keras.layers.Conv2D(8, 3, activation="relu", padding="same", strides=2)(inputs)
h = tf.keras.layers.Conv2D(4, 3, activation="relu", padding="same", strides=2)(h)
h = tf.keras.layers.Conv2DTranspose(4, 3, strides=2, activation="relu", padding="same")(h)
h = tf.keras.layers.Conv2DTranspose(8, 3, strides=2, activation="relu", padding="same")(h)
outputs = tf.keras.layers.Conv2D(1, 3, activation="sigmoid", padding="same")(h)
model = tf.keras.Model(inputs, outputs)
fix(model)
model.compile("adam", "binary_crossentropy")
history = model.fit(noisy, clean, epochs=4, batch_size=8, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "output_shape": list(model.output_shape),
                  "row": model.predict(noisy[:1], verbose=0)[0, 0, :, 0].tolist()}))
