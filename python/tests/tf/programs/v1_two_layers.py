"""A graph of TensorFlow 1: scopes, Adam, collections, averages of weights, a saver."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


import os
import tempfile

v1 = tf.compat.v1
graph = tf.Graph()
data = rng.normal(size=(40, 6)).astype("float32")
labels = np.eye(3)[np.argmax(data @ rng.normal(size=(6, 3)), 1)].astype("float32")
first, second = (rng.normal(size=s).astype("float32") * 0.3 for s in ((6, 8), (8, 3)))
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 6], name="x")
    y = v1.placeholder(tf.float32, [None, 3], name="y")

    def dense(inputs, value, scope, activation=None):
        with v1.variable_scope(scope, reuse=v1.AUTO_REUSE):
            kernel = v1.get_variable("kernel", initializer=tf.constant(value),
                                     regularizer=lambda w: 0.01 * tf.reduce_sum(tf.square(w)))
            bias = v1.get_variable("bias", [value.shape[1]], initializer=v1.zeros_initializer())
            out = tf.matmul(inputs, kernel) + bias
            return out if activation is None else activation(out)

    hidden = dense(x, first, "hidden", tf.nn.relu)
    logits = dense(hidden, second, "logits")
    cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    total = cost + tf.add_n(v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES))
    step = v1.train.get_or_create_global_step()
    rate = v1.train.exponential_decay(0.05, step, 5, 0.9, staircase=True)
    train = v1.train.AdamOptimizer(rate).minimize(total, global_step=step)
    average = v1.train.ExponentialMovingAverage(0.8, num_updates=step)
    with tf.control_dependencies([train]):
        train_and_average = average.apply(v1.trainable_variables())
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))
    saver = v1.train.Saver()
    init = v1.global_variables_initializer()
    names = [v.name for v in v1.trainable_variables()]
    bias = [v for v in v1.trainable_variables() if v.name.startswith("logits/bias")][0]
    shadow = average.average(bias)
costs = []
path = os.path.join(tempfile.mkdtemp(), "model")
with v1.Session(graph=graph) as session:
    session.run(init)
    for epoch in range(4):
        for i in range(0, 40, 10):
            feed = {x: data[i:i + 10], y: labels[i:i + 10]}
            _, value = session.run([train_and_average, cost], feed_dict=feed)
        costs.append(float(value))
    found = session.run({"accuracy": accuracy, "rate": rate, "step": step}, {x: data, y: labels})
    biases, shadows = session.run([bias, shadow])
    saved = saver.save(session, path, global_step=step)
with v1.Session(graph=graph) as session:
    saver.restore(session, saved)
    again = session.run(cost, {x: data, y: labels})
print(json.dumps({"costs": costs, "names": names, "found": {k: float(v) for k, v in found.items()}, "again": float(again),
                  "biases": biases.tolist(), "shadows": shadows.tolist(), "saved": os.path.basename(saved)}))
