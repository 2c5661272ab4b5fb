"""Gradients added up, clipped, of gradients, of several targets, by rows, and with rules of one's own."""

import json

import numpy as np
import tensorflow as tf

out = {}
r = np.random.RandomState(0)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(5, activation="gelu"),
    tf.keras.layers.Dense(3)])
d = np.random.RandomState(1)
model.set_weights([(d.normal(size=w.shape) * 0.4).astype("float32") if w.ndim > 1 else w for w in model.get_weights()])
x = r.normal(size=(32, 4)).astype("float32")
y = r.randint(0, 3, 32)
opt = tf.keras.optimizers.Adam(learning_rate=0.01, clipnorm=1.0)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accum = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]
n_acum = 4


@tf.function
def accumulate(xb, yb):
    with tf.GradientTape() as tape:
        loss = loss_fn(yb, model(xb, training=True)) / n_acum
    grads = tape.gradient(loss, model.trainable_variables)
    for a, g in zip(accum, grads):
        a.assign_add(g)
    return loss * n_acum


@tf.function
def apply():
    opt.apply_gradients(zip(accum, model.trainable_variables))
    for a in accum:
        a.assign(tf.zeros_like(a))


ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
losses = []
for epoch in range(3):
    for step, (xb, yb) in enumerate(ds):
        losses.append(float(accumulate(xb, yb)))
        if (step + 1) % n_acum == 0:
            apply()
out["losses"] = losses
out["iterations"] = int(opt.iterations)
a, b = (tf.constant(3.0), tf.Variable(2.0))
with tf.GradientTape(persistent=True) as tape:
    tape.watch(a)
    y1 = a * a * b
    y2 = y1 * y1
    with tape.stop_recording():
        z = y2 * 3
out["persistent"] = [float(tape.gradient(y1, a)), float(tape.gradient(y2, a)), float(tape.gradient(y2, b)),
    tape.gradient(z, a) is None]
del tape
with tf.GradientTape() as t2:
    t2.watch(a)
    with tf.GradientTape() as t1:
        t1.watch(a)
        c = a ** 3 + tf.sin(a)
    dc = t1.gradient(c, a)
out["second"] = [float(dc), float(t2.gradient(dc, a))]
w = tf.Variable(r.normal(size=(3, 2)).astype("float32"), name="w")
with tf.GradientTape() as tape:
    v = tf.nn.softmax(tf.constant([[1.0, 2.0, 3.0]]) @ w)
out["jacobian"] = tape.jacobian(v, w).numpy().tolist()
xs = tf.constant(r.normal(size=(4, 3)).astype("float32"))
with tf.GradientTape() as tape:
    tape.watch(xs)
    yy = tf.reduce_sum(xs ** 2, axis=1, keepdims=True) * xs
out["batch_jacobian"] = tape.batch_jacobian(yy, xs).numpy().tolist()
u = tf.Variable(1.0)
with tf.GradientTape(watch_accessed_variables=False) as tape:
    tape.watch(w)
    q = tf.reduce_sum(w) * u
out["unconnected"] = [tape.gradient(q, {"w": w, "u": u},
    unconnected_gradients=tf.UnconnectedGradients.ZERO)["u"].numpy().tolist(),
    [x.name for x in tape.watched_variables()]]
with tf.GradientTape() as tape:
    e = tf.nn.embedding_lookup(w, [0, 2, 0])
    l = tf.reduce_sum(e ** 2)
g = tape.gradient(l, w)
out["slices"] = tf.convert_to_tensor(g).numpy().tolist()


@tf.custom_gradient
def clip_gradient(x):

    def grad(dy):
        return tf.clip_by_norm(dy, 0.5)
    return (tf.identity(x), grad)


with tf.GradientTape() as tape:
    o = clip_gradient(u * 2.0) * 3.0
out["custom"] = float(tape.gradient(o, u))
gs = [tf.constant([3.0, 4.0]), None, tf.constant([12.0])]
cl, norm = tf.clip_by_global_norm(gs, 6.5)
out["clip"] = [cl[0].numpy().tolist(), cl[1] is None, float(norm),
    tf.clip_by_value(gs[0], -3.5, 3.5).numpy().tolist(), tf.clip_by_norm(gs[0], 1.0).numpy().tolist()]
with tf.GradientTape() as tape:
    tape.watch(a)
    k = tf.cond(a > 2, lambda: a ** 2, lambda: a)
    tape.reset()
    tape.watch(a)
    k = a * 5
out["reset"] = float(tape.gradient(k, a))
print(json.dumps(out))
