"""A convolutional graph of TensorFlow 1 with metrics in local variables, summaries of pictures and an interactive session."""

import json

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
rng = np.random.RandomState(0)
X, Y = rng.uniform(0, 1, (40, 64)), np.eye(10)[rng.randint(0, 10, 40)]
found = {}


def weights(shape, seed):
    return tf.Variable(np.random.RandomState(seed).normal(0, 0.1, shape).astype("float32"))


with tf.Graph().as_default():
    x, y = v1.placeholder(tf.float32, [None, 64]), v1.placeholder(tf.float32, [None, 10])
    keep = v1.placeholder(tf.float32)
    image = tf.reshape(x, [-1, 8, 8, 1])
    h = tf.nn.relu(v1.nn.conv2d(image, filter=weights([3, 3, 1, 4], 1), strides=[1, 1, 1, 1], padding="SAME"))
    h = v1.nn.max_pool(value=h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    h = v1.nn.dropout(tf.reshape(h, [-1, 64]), rate=1 - keep)
    logits = tf.matmul(h, weights([64, 10], 2))
    loss = tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = v1.train.AdamOptimizer(0.01).minimize(loss, global_step=v1.train.get_or_create_global_step())
    said, true = tf.argmax(logits, 1), tf.argmax(y, 1)
    metrics = {
        "accuracy": v1.metrics.accuracy(labels=true, predictions=said), "mean": v1.metrics.mean(logits),
        "mse": v1.metrics.mean_squared_error(y, tf.nn.softmax(logits)),
        "rmse": v1.metrics.root_mean_squared_error(y, tf.nn.softmax(logits)),
        "precision": v1.metrics.precision(tf.equal(true, 1), tf.equal(said, 1)),
        "recall": v1.metrics.recall(true > 4, said > 4),
    }
    v1.summary.scalar("loss", loss)
    v1.summary.image("pictures", image, max_outputs=2)
    merged = v1.summary.merge_all()
    session = v1.InteractiveSession()
    session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
    for i in range(12):
        at = (i * 10) % 40
        train.run(feed_dict={x: X[at:at + 10], y: Y[at:at + 10], keep: 1.0})
    found["loss"] = float(loss.eval({x: X, y: Y, keep: 1.0}))
    for at in (0, 20):
        update = [each[1] for each in metrics.values()]
        found.setdefault("updates", []).append(
            [float(each) for each in session.run(update, {x: X[at:at + 20], y: Y[at:at + 20], keep: 1.0})])
    found["metrics"] = {key: float(session.run(each[0])) for key, each in metrics.items()}
    found["summary"] = len(session.run(merged, {x: X, y: Y, keep: 1.0})) > 100
    session.close()
print(json.dumps(found))
