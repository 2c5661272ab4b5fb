"""Article 004, example 3: a model of one's own with a traced step, on all data at once."""

import numpy as np
import tensorflow as tf

from pictures import report

rng = np.random.RandomState(13)


class MyModel(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(256, activation="relu")
        self.dense = tf.keras.layers.Dense(10)

    def call(self, x):
        return self.dense(self.hidden(x))


x = rng.normal(size=(8192, 50)).astype("float32")
y = rng.normal(size=(8192, 10)).astype("float32")
model = MyModel()
model(x[:1])
model.set_weights([(rng.normal(size=w.shape) * 0.1).astype("float32") for w in model.get_weights()])
optimizer = tf.keras.optimizers.Adam()
loss_fn = tf.keras.losses.MeanSquaredError()


@tf.function
def train_step(features, labels):
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(features))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


features, labels = tf.constant(x), tf.constant(y)
losses = [float(train_step(features, labels)) for _ in range(10)]
report(losses=losses, bias=model.dense.get_weights()[1])
