"""Depthwise blocks with normalisation, as small networks for phones have them."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


def block(x, filters, stride):
    x = tf.keras.layers.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(x)
    x = tf.keras.layers.BatchNormalization()(x)
    x = tf.keras.layers.ReLU(6.0)(x)
    x = tf.keras.layers.Conv2D(filters, 1, use_bias=False)(x)
    x = tf.keras.layers.BatchNormalization()(x)
    return tf.keras.layers.Activation("relu")(x)


x = rng.uniform(size=(24, 9, 9, 3)).astype("float32")
y = np.eye(3, dtype="float32")[rng.randint(0, 3, size=24)]
inputs = tf.keras.Input((9, 9, 3))
h = block(block(inputs, 6, 2), 8, 1)
outputs = tf.keras.layers.Dense(3, activation="softmax")(tf.keras.layers.GlobalMaxPooling2D()(h))
model = tf.keras.Model(inputs, outputs)
fix(model)
model.compile(tf.keras.optimizers.Adam(0.01), "categorical_crossentropy", metrics=["accuracy", "top_k_categorical_accuracy"])
history = model.fit(x, y, epochs=3, batch_size=8, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "trainable": len(model.trainable_weights),
                  "evaluate": model.evaluate(x, y, verbose=0)}))
