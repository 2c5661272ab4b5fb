"""What the middle of a model computes: models of its layers."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.uniform(size=(6, 10, 10, 3)).astype("float32")
model = tf.keras.Sequential([
    tf.keras.Input((10, 10, 3)), tf.keras.layers.Conv2D(4, 3, name="first", activation="relu"),
    tf.keras.layers.Conv2D(4, 3, name="second", activation="relu"), tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(2, name="head")])
fix(model)
extractor = tf.keras.Model(model.inputs, [layer.output for layer in model.layers])
features = extractor(x)
one = tf.keras.Model(inputs=model.inputs, outputs=model.get_layer("second").output)
print(json.dumps({"shapes": [list(f.shape) for f in features], "mean": [float(tf.reduce_mean(f)) for f in features],
                  "one": one.predict(x[:1], verbose=0)[0, 0, 0].tolist(), "names": [layer.name for layer in model.layers[:2]]}))
