"""Tickets: three inputs, two outputs with weights, by dicts."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


n = 64
title = tf.keras.Input((None,), name="title", dtype="int32")
body = tf.keras.Input((8,), name="body")
tags = tf.keras.Input((5,), name="tags")
t = tf.keras.layers.Embedding(30, 6)(title)
t = tf.keras.layers.LSTM(6)(t)
b = tf.keras.layers.Dense(6, activation="relu")(body)
x = tf.keras.layers.concatenate([t, b, tags])
priority = tf.keras.layers.Dense(1, name="priority")(x)
department = tf.keras.layers.Dense(4, name="department")(x)
model = tf.keras.Model(inputs=[title, body, tags], outputs={"priority": priority, "department": department})
fix(model)
model.compile(
    optimizer=tf.keras.optimizers.RMSprop(1e-2),
    loss={"priority": tf.keras.losses.BinaryCrossentropy(from_logits=True),
          "department": tf.keras.losses.CategoricalCrossentropy(from_logits=True)},
    loss_weights={"priority": 1.0, "department": 0.2},
    metrics={"department": ["accuracy"]})
data = {"title": rng.randint(0, 30, (n, 7)), "body": rng.rand(n, 8).astype("float32"),
        "tags": rng.randint(0, 2, (n, 5)).astype("float32")}
targets = {"priority": (data["body"].sum(1) > 4).astype("float32").reshape(-1, 1),
           "department": np.eye(4, dtype="float32")[data["title"][:, 0] % 4]}
history = model.fit(data, targets, epochs=3, batch_size=16, shuffle=False, verbose=0)
scores = model.evaluate(data, targets, batch_size=16, verbose=0, return_dict=True)
found = model.predict({k: v[:3] for k, v in data.items()}, verbose=0)
print(json.dumps({"history": history.history, "scores": scores, "shapes": {k: list(v.shape) for k, v in sorted(found.items())},
                  "first": float(found["priority"][0, 0]), "listed": model.evaluate(data, targets, batch_size=16, verbose=0)}))
