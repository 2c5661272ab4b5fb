"""A loop of one's own: a schedule, clipped gradients, metrics, checkpoints that are read again."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


import os
import tempfile

x = rng.normal(size=(60, 5)).astype("float32")
y = np.argmax(x[:, :3] + 0.1 * rng.normal(size=(60, 3)), axis=1).astype("int64")
train = tf.data.Dataset.from_tensor_slices((x[:48], y[:48])).batch(12)
valid = tf.data.Dataset.from_tensor_slices((x[48:], y[48:])).batch(12)


def build():
    made = tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(10, activation="gelu"), tf.keras.layers.Dense(3)])
    fix(made)
    return made


model = build()
schedule = tf.keras.optimizers.schedules.CosineDecay(0.1, decay_steps=12, alpha=0.1)
optimizer = tf.keras.optimizers.SGD(schedule, momentum=0.9, nesterov=True)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
valid_accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
step_counter = tf.Variable(0, dtype=tf.int64)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_fn(y, logits) + tf.add_n([1e-3 * tf.nn.l2_loss(w) for w in model.trainable_weights if len(w.shape) > 1])
    grads, norm = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_weights), 1.0)
    optimizer.apply_gradients(zip(grads, model.trainable_weights))
    accuracy.update_state(y, logits)
    step_counter.assign_add(1)
    return loss, norm


folder = tempfile.mkdtemp()
checkpoint = tf.train.Checkpoint(step=step_counter, optimizer=optimizer, model=model)
manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
lines = []
for epoch in range(3):
    for a, b in train:
        loss, norm = train_step(a, b)
    for a, b in valid:
        valid_accuracy.update_state(b, model(a, training=False))
    lines.append([float(loss), float(norm), float(accuracy.result()), float(valid_accuracy.result()),
                  float(schedule(optimizer.iterations))])
    accuracy.reset_state()
    valid_accuracy.reset_state()
    manager.save()
other = build()
restored = tf.train.Checkpoint(model=other)
restored.restore(manager.latest_checkpoint).expect_partial()
same = float(tf.reduce_max(tf.abs(other(x) - model(x))))
print(json.dumps({"lines": lines, "kept": [os.path.basename(p) for p in manager.checkpoints], "step": int(step_counter),
                  "difference": same, "iterations": int(optimizer.iterations)}))
