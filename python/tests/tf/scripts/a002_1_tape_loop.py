"""Article 002, example 1: a loop with a tape over batches of a dictionary, many epochs long."""

import numpy as np
import tensorflow as tf

from pictures import report

rows = np.random.RandomState(3).randn(96, 6).astype("float32")
labels = (rows @ np.linspace(-1, 1, 6).astype("float32")[:, None] + 0.25).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices({"inputs": rows, "labels": labels}).batch(16)

hidden = tf.Variable(np.random.RandomState(4).randn(6, 8).astype("float32") * 0.3)
head = tf.Variable(np.random.RandomState(5).randn(8, 1).astype("float32") * 0.3)
offset = tf.Variable(tf.zeros([1]))


def model(x):
    return tf.matmul(tf.nn.relu(tf.matmul(x, hidden)), head) + offset


losses = []
for epoch in range(5):
    for batch in dataset:
        with tf.GradientTape() as tape:
            predictions = model(batch["inputs"])
            loss = tf.reduce_mean(tf.square(predictions - batch["labels"]))
        gradients = tape.gradient(loss, [hidden, head, offset])
        for gradient, variable in zip(gradients, [hidden, head, offset]):
            variable.assign_sub(0.1 * gradient)
        del tape, gradients
    losses.append(loss)
    print("epoch", epoch, "loss", float(loss))
report(losses=tf.stack(losses), hidden=hidden, head=head, offset=offset)
