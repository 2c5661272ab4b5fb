"""A v1 graph: a classifier with placeholders, momentum, an accuracy that is fetched, and a second session."""

import json

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
rng = np.random.RandomState(7)
features = rng.normal(size=(120, 10)).astype("float32")
labels = (features[:, 0] + features[:, 1] > 0).astype("int64")
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 10], name="x")
    y = v1.placeholder(tf.int64, [None], name="y")
    with v1.variable_scope("hidden"):
        w = v1.get_variable("w", initializer=(rng.normal(size=(10, 16)) * 0.3).astype("float32"))
        b = v1.get_variable("b", initializer=np.zeros(16, "float32"))
        h = tf.nn.tanh(tf.matmul(x, w) + b)
    with v1.variable_scope("head"):
        v = v1.get_variable("v", initializer=(rng.normal(size=(16, 2)) * 0.3).astype("float32"))
        logits = tf.matmul(h, v)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    train = v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    names = sorted(each.name for each in v1.trainable_variables())
    init = v1.global_variables_initializer()
losses = []
with v1.Session(graph=graph) as session:
    session.run(init)
    for step in range(12):
        rows = slice(step % 4 * 30, step % 4 * 30 + 30)
        found = session.run({"loss": loss, "train": train}, {x: features[rows], y: labels[rows]})
        losses.append(float(found["loss"]))
    trained = float(session.run(accuracy, {x: features, y: labels}))
with v1.Session(graph=graph) as session:
    session.run(init)
    fresh = float(session.run(accuracy, {x: features, y: labels}))
print(json.dumps({"losses": losses, "trained": trained, "fresh": fresh, "names": names}))
