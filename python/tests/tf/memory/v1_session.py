"""A v1 graph: a deep network in a session, fed with a large batch in a loop."""

import numpy as np

from common import ready, report, rows, tf

v1 = tf.compat.v1
v1.disable_eager_execution()
x, y = rows(1 << 19, 16, 6)
rng = np.random.RandomState(7)
features, targets = v1.placeholder(tf.float32, [None, 16]), v1.placeholder(tf.float32, [None, 1])
z = features
for i in range(9):
    w = v1.Variable((rng.normal(size=(z.shape[1], 64)) * 0.15).astype("float32"), name=f"w{i}")
    z = tf.nn.relu(tf.matmul(z, w) + v1.Variable(np.zeros(64, "float32"), name=f"b{i}"))
out = tf.matmul(z, v1.Variable((rng.normal(size=(64, 1)) * 0.2).astype("float32"), name="head"))
loss = tf.reduce_mean(tf.square(out - targets))
train = v1.train.GradientDescentOptimizer(0.05).minimize(loss)
ready()
losses = []
with v1.Session() as session:
    session.run(v1.global_variables_initializer())
    for _ in range(2):
        losses.append(session.run([loss, train], {features: x, targets: y})[0])
report(loss=losses)
