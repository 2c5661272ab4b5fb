"""Article 003, example 3: a model with placeholders, trained in a session that is closed at the end."""

import numpy as np
import tensorflow as tf

from pictures import report

tf.compat.v1.disable_eager_execution()

rows = np.random.RandomState(11).randn(512, 10).astype("float32")
wanted = (rows.sum(axis=1, keepdims=True) * 0.1 + 1).astype("float32")


def train(batch):
    tf.compat.v1.reset_default_graph()
    session = tf.compat.v1.Session()
    x = tf.compat.v1.placeholder(tf.float32, shape=(None, 10))
    y = tf.compat.v1.placeholder(tf.float32, shape=(None, 1))
    weights = tf.Variable(np.full([10, 1], 0.05, "float32"))
    bias = tf.Variable(tf.zeros([1]))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) + bias - y))
    step = tf.compat.v1.train.GradientDescentOptimizer(0.05).minimize(loss)
    session.run(tf.compat.v1.global_variables_initializer())
    losses = []
    for begin in range(0, 512, batch):
        _, value = session.run([step, loss], feed_dict={x: rows[begin:begin + batch], y: wanted[begin:begin + batch]})
        losses.append(value)
    found = session.run({"weights": weights, "bias": bias})
    session.close()
    return losses, found


losses, found = train(64)
again, _ = train(200)  # the last batch is smaller
report(losses=losses, again=again, weights=found["weights"], bias=found["bias"])
