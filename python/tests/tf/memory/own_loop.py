"""A loop of one's own: a traced step with a tape over a deep network and a large batch."""

from common import fixed, ready, report, rows, tf

x, y = rows(1 << 19, 16, 3)
model = tf.keras.Sequential(
    [tf.keras.Input((16,))] + [tf.keras.layers.Dense(64, activation="tanh") for _ in range(9)] + [tf.keras.layers.Dense(1)])
fixed(model)
optimizer = tf.keras.optimizers.SGD(0.1)
features, targets = tf.constant(x), tf.constant(y)


@tf.function
def step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(a, training=True) - b))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


ready()
losses = [float(step(features, targets)) for _ in range(2)]
report(loss=losses)
