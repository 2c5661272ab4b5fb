"""A training loop of one's own, with metrics that are reset each epoch."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


x = rng.normal(size=(64, 5)).astype("float32")
y = (x[:, 0] > 0).astype("int64")
model = tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(2)])
fix(model)
optimizer = tf.keras.optimizers.SGD(learning_rate=0.1, momentum=0.9)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
metric = tf.keras.metrics.SparseCategoricalAccuracy()
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
found = []
for epoch in range(3):
    for images, labels in dataset:
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            loss = loss_fn(labels, logits)
        gradients = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(gradients, model.trainable_weights))
        metric.update_state(labels, logits)
    found.append([float(loss), float(metric.result())])
    metric.reset_state()
print(json.dumps({"epochs": found, "iterations": int(optimizer.iterations.numpy())}))
