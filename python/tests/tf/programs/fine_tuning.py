"""A base that is frozen first and trained later, with batch normalisation left as it is."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


base_input = tf.keras.Input((12, 12, 3))
h = tf.keras.layers.Conv2D(6, 3, use_bias=False, name="conv_a")(base_input)
h = tf.keras.layers.BatchNormalization(name="bn_a")(h)
h = tf.keras.layers.Activation("relu")(h)
h = tf.keras.layers.SeparableConv2D(8, 3, name="conv_b")(h)
base = tf.keras.Model(base_input, h, name="base")
fix(base, 3)
base.trainable = False
inputs = tf.keras.Input((12, 12, 3))
x = tf.keras.layers.Rescaling(1.0 / 127.5, offset=-1)(inputs)
x = base(x, training=False)
x = tf.keras.layers.GlobalAveragePooling2D()(x)
x = tf.keras.layers.Dropout(0.0)(x)
outputs = tf.keras.layers.Dense(1)(x)
model = tf.keras.Model(inputs, outputs)
model.layers[-1].set_weights([np.linspace(-0.3, 0.3, 8).reshape(8, 1).astype("float32"), np.zeros(1, "float32")])
images = rng.randint(0, 255, (24, 12, 12, 3)).astype("float32")
labels = (np.arange(24) % 2).astype("float32").reshape(-1, 1)
images[labels[:, 0] == 1] *= 0.6
counts = [len(model.weights), len(model.trainable_weights), len(model.non_trainable_weights)]
loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
model.compile(tf.keras.optimizers.Adam(1e-2), loss, metrics=[tf.keras.metrics.BinaryAccuracy(threshold=0.0)])
first = model.fit(images, labels, epochs=2, batch_size=8, shuffle=False, verbose=0)
before = base.get_layer("conv_a").get_weights()[0].copy()
base.trainable = True
for layer in base.layers[:2]:
    layer.trainable = False
model.compile(tf.keras.optimizers.Adam(1e-3), loss, metrics=[tf.keras.metrics.BinaryAccuracy(threshold=0.0)])
second = model.fit(images, labels, epochs=4, initial_epoch=first.epoch[-1] + 1, batch_size=8, shuffle=False, verbose=0)
moved = float(np.abs(base.get_layer("conv_a").get_weights()[0] - before).max())
print(json.dumps({"counts": counts, "after": len(model.trainable_weights), "moved": moved, "epochs": second.epoch,
                  "first": first.history, "second": second.history}))
