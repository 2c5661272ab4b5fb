"""A graph of TensorFlow 1: scopes, regularizers, clipped gradients, decay, a saver into a new folder, scan and fold."""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
rng = np.random.RandomState(0)
X = rng.normal(size=(64, 10)).astype("float32")
Y = np.eye(3, dtype="float32")[np.argmax(X @ rng.normal(size=(10, 3)), 1)]
found = {}
with tf.Graph().as_default():
    x, y = v1.placeholder(tf.float32, [None, 10], name="x"), v1.placeholder(tf.float32, [None, 3], name="y")

    def dense(name, inputs, size):
        with v1.variable_scope(name, reuse=v1.AUTO_REUSE):
            count = int(inputs.get_shape()[1])
            first = np.linspace(-0.2, 0.2, count * size).reshape(count, size)
            w = v1.get_variable("w", [count, size], initializer=v1.constant_initializer(first),
                                regularizer=lambda v: 0.001 * tf.nn.l2_loss(v))
            b = v1.get_variable("b", [size], initializer=v1.zeros_initializer())
            return v1.nn.xw_plus_b(inputs, w, b)

    logits = dense("out", tf.nn.relu(dense("hidden", x, 8)), 3)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    loss += tf.add_n(v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES))
    step = tf.Variable(0, trainable=False, name="global_step")
    rate = v1.train.exponential_decay(0.1, step, 5, 0.9, staircase=True)
    optimizer = v1.train.MomentumOptimizer(rate, 0.9)
    pairs = optimizer.compute_gradients(loss, v1.trainable_variables())
    train = optimizer.apply_gradients([(tf.clip_by_value(g, -0.1, 0.1), v) for g, v in pairs], global_step=step)
    v1.train.AdamOptimizer().minimize(loss)
    found["names"] = [each.name for each in v1.global_variables()]
    saver = v1.train.Saver(max_to_keep=2)
    path = os.path.join(tempfile.mkdtemp(), "new", "model.ckpt")
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        found["losses"] = [float(session.run([loss, train], {x: X, y: Y})[0]) for _ in range(12)]
        found["saved"] = os.path.basename(saver.save(session, path, global_step=step))
    with v1.Session() as session:
        saver.restore(session, v1.train.latest_checkpoint(os.path.dirname(path)))
        found["restored"] = [float(each) for each in session.run([loss, rate], {x: X, y: Y})]

    rows = v1.placeholder(tf.float32, [None, 2])
    sums = tf.scan(lambda total, row: total + row, rows)
    back = tf.scan(lambda total, row: total * 0.5 + row, rows, initializer=tf.ones(2), reverse=True)
    folded = tf.foldl(lambda total, row: total * 2.0 + row, rows)
    _, counted = tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + tf.cast(i, tf.float32) * rows[0, 1]),
                               [tf.constant(0), 0.0])
    image = v1.placeholder(tf.float32, [None, 4, 4, 1])
    convolved = v1.nn.conv2d(image, filter=tf.ones((3, 3, 1, 1)), strides=[1, 1, 1, 1], padding="SAME")
    pooled = v1.nn.max_pool(value=convolved, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    with v1.Session() as session:
        for values in (np.arange(6.0).reshape(3, 2), np.ones((2, 2))):
            found.setdefault("loops", []).append([
                each.tolist() for each in session.run([sums, back, folded, counted], {rows: values})])
        found["pooled"] = session.run(pooled, {image: np.arange(16.0).reshape(1, 4, 4, 1)}).tolist()
print(json.dumps(found))
