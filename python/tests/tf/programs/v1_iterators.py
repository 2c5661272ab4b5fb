"""A graph of TensorFlow 1: iterators over datasets, placeholders without a shape, summaries, a saver, flags."""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.logging.set_verbosity(v1.logging.ERROR)
out = {}
folder = tempfile.mkdtemp()
r = np.random.RandomState(0)
xs = r.rand(32, 64).astype("float32")
ys = r.randint(0, 3, 32)


def conv2d(x, w):
    return tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME")


with tf.Graph().as_default():
    x = v1.placeholder(tf.float32, [None, 64], name="x")
    y = v1.placeholder(tf.int64, [None], name="y")
    keep = v1.placeholder(tf.float32)
    training = v1.placeholder(tf.bool)
    pictures = tf.reshape(x, [-1, 8, 8, 1])
    with v1.variable_scope("conv"):
        w = v1.get_variable("w", [3, 3, 1, 4], initializer=v1.constant_initializer(0.05))
        hidden = tf.nn.max_pool(tf.nn.relu(conv2d(pictures, w)), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    flat = tf.reshape(hidden, [-1, 4 * 4 * 4])
    dropped = tf.cond(training, lambda: tf.nn.dropout(flat, rate=1 - keep), lambda: flat)
    last = tf.Variable(tf.constant(np.linspace(-1, 1, 64 * 3).reshape(64, 3), dtype=tf.float32))
    logits = tf.matmul(dropped, last)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss")
    step = v1.train.get_or_create_global_step()
    rate = v1.train.cosine_decay(0.02, step, 20)
    optimizer = v1.train.AdamOptimizer(rate)
    capped = [(tf.clip_by_norm(g, 1.0), v) for g, v in optimizer.compute_gradients(loss)]
    train = optimizer.apply_gradients(capped, global_step=step)
    v1.summary.scalar("loss", loss)
    v1.summary.histogram("last", last)
    merged = v1.summary.merge_all()
    saver = v1.train.Saver(max_to_keep=2)
    options = v1.RunOptions(report_tensor_allocations_upon_oom=True)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        writer = v1.summary.FileWriter(os.path.join(folder, "logs"))
        losses = []
        for i in range(12):
            rows = slice(8 * i % 32, 8 * i % 32 + 8)
            feed = {x: xs[rows], y: ys[rows], keep: 1.0, training: True}
            _, found, summary = session.run([train, loss, merged], feed_dict=feed, options=options)
            writer.add_summary(summary, i)
            losses.append(float(found))
        writer.close()
        out["losses"] = losses
        out["step"] = int(session.run(step))
        out["rate"] = float(session.run(rate))
        out["named"] = float(session.run("loss:0", {"x:0": xs, "y:0": ys, keep: 1.0, training: False}))
        path = saver.save(session, os.path.join(folder, "model.ckpt"), global_step=step)
    with v1.Session() as session:
        saver.restore(session, v1.train.latest_checkpoint(folder))
        out["restored"] = float(loss.eval({x: xs, y: ys, keep: 1.0, training: False}))
    out["events"] = [path[-3:], len(os.listdir(os.path.join(folder, "logs")))]

with tf.Graph().as_default():
    dataset = tf.data.Dataset.from_tensor_slices((xs, ys)).map(lambda a, b: (a * 2.0, b)).batch(10)
    iterator = v1.data.make_initializable_iterator(dataset)
    features, labels = iterator.get_next()
    total = tf.reduce_sum(features)
    once = v1.data.make_one_shot_iterator(dataset.take(2)).get_next()[1]
    either = v1.data.Iterator.from_structure(v1.data.get_output_types(dataset), v1.data.get_output_shapes(dataset))
    which = either.get_next()[1]
    parts = [either.make_initializer(dataset), either.make_initializer(dataset.take(1))]
    anything = v1.placeholder(tf.float32)
    doubled = anything * 2 + 1
    slope = tf.gradients(doubled, anything)[0]

    def exhausted(fetch, session):
        """What is fetched until there is nothing left."""
        values = []
        try:
            while True:
                values.append(session.run(fetch))
        except tf.errors.OutOfRangeError:
            return values

    with v1.Session() as session:
        try:
            session.run(total)
        except tf.errors.FailedPreconditionError:
            out["uninitialized"] = True
        for _ in range(2):
            session.run(iterator.initializer)
            out.setdefault("epochs", []).append([[float(t), n.tolist()] for t, n in exhausted([total, labels], session)])
        out["once"] = [each.tolist() for each in exhausted(once, session)]
        for part in parts:
            session.run(part)
            out.setdefault("either", []).append(len(exhausted(which, session)))
        out["shapes"] = [np.asarray(session.run(doubled, {anything: v})).tolist() for v in (1.0, [1.0, 2.0], np.ones((2, 2)))]
        out["slope"] = float(session.run(slope, {anything: 3.0}))
print(json.dumps(out))
