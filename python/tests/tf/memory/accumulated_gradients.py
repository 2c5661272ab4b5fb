"""Gradients of four parts of a batch, added up: under one tape, as people write it, all parts are kept."""

from common import fixed, ready, report, rows, tf

x, y = rows(1 << 19, 16, 5)
model = tf.keras.Sequential(
    [tf.keras.Input((16,))] + [tf.keras.layers.Dense(64, activation="relu") for _ in range(9)] + [tf.keras.layers.Dense(1)])
fixed(model)
optimizer = tf.keras.optimizers.Adam(1e-3)


@tf.function
def step(a, b):
    with tf.GradientTape() as tape:
        parts = [tf.reduce_mean(tf.square(model(c) - d)) for c, d in zip(tf.split(a, 4), tf.split(b, 4))]
        loss = tf.add_n(parts) / 4.0
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


ready()
report(loss=[float(step(tf.constant(x), tf.constant(y))) for _ in range(2)])
