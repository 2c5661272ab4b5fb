"""Overfitting: penalties on weights, and dropout that is off in evaluation."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(60, 6)).astype("float32")
y = rng.randint(0, 2, size=(60, 1)).astype("float32")
model = tf.keras.Sequential([
    tf.keras.Input((6,)),
    tf.keras.layers.Dense(16, activation="elu", kernel_regularizer=tf.keras.regularizers.l2(0.01)),
    tf.keras.layers.Dense(8, activation="elu", kernel_regularizer=tf.keras.regularizers.L1L2(0.001, 0.01)),
    tf.keras.layers.Dense(1),
])
fix(model)
model.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True),
              metrics=[tf.keras.losses.BinaryCrossentropy(from_logits=True, name="bce"), "accuracy"])
history = model.fit(x, y, epochs=4, batch_size=20, validation_split=0.25, shuffle=False, verbose=0)
dropped = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dropout(0.5)])
print(json.dumps({"history": history.history, "losses": [float(v) for v in model.losses],
                  "same": bool(np.allclose(dropped.predict(x[:2], verbose=0), x[:2]))}))
