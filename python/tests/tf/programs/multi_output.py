"""Two inputs, two outputs, with losses and weights for each."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


a = rng.normal(size=(60, 4)).astype("float32")
b = rng.normal(size=(60, 3)).astype("float32")
price = (a[:, :1] * 2 + b[:, :1]).astype("float32")
kind = (b[:, 1] > 0).astype("int32")
left = tf.keras.Input((4,), name="left")
right = tf.keras.Input((3,), name="right")
h = tf.keras.layers.Concatenate()([tf.keras.layers.Dense(6, activation="relu")(left), right])
h = tf.keras.layers.Dense(8, activation="relu")(h)
price_out = tf.keras.layers.Dense(1, name="price")(h)
kind_out = tf.keras.layers.Dense(2, activation="softmax", name="kind")(h)
model = tf.keras.Model(inputs=[left, right], outputs=[price_out, kind_out])
fix(model)
model.compile("adam", loss={"price": "mse", "kind": "sparse_categorical_crossentropy"},
              loss_weights={"price": 1.0, "kind": 0.5}, metrics={"price": ["mae"], "kind": ["accuracy"]})
history = model.fit({"left": a, "right": b}, {"price": price, "kind": kind}, epochs=3, batch_size=20, shuffle=False,
                    verbose=0)
found = model.predict([a[:2], b[:2]], verbose=0)
print(json.dumps({"history": history.history, "predict": [each.tolist() for each in found]}))
