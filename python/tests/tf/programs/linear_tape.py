"""Linear regression with variables and a tape, and no model."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(100, 3)).astype("float32")
y = (x @ np.array([[1.0], [-2.0], [0.5]]) + 0.3).astype("float32")
w = tf.Variable(tf.zeros([3, 1]))
b = tf.Variable(0.0)
losses = []
for _ in range(20):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * dw)
    b.assign_sub(0.1 * db)
    losses.append(float(loss))
print(json.dumps({"losses": losses, "w": w.numpy().ravel().tolist(), "b": float(b.numpy())}))
