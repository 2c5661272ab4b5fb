"""A student that learns from a teacher, a loss of its own in compute_loss(), and pairs that are told apart."""

import json

import numpy as np
import tensorflow as tf

layers, ops = tf.keras.layers, tf.keras.ops
rng = np.random.RandomState(0)


class Distiller(tf.keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher

    def compile(self, optimizer, metrics, alpha=0.1, temperature=3):
        super().compile(optimizer=optimizer, metrics=metrics)
        self.alpha, self.temperature = alpha, temperature
        self.hard = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.soft = tf.keras.losses.KLDivergence()

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, allow_empty=False):
        wanted = self.teacher(x, training=False)
        soft = self.soft(ops.softmax(wanted / self.temperature, axis=1), ops.softmax(y_pred / self.temperature, axis=1))
        return self.alpha * self.hard(y, y_pred) + (1 - self.alpha) * soft * self.temperature**2

    def call(self, x):
        return self.student(x)


def net(width):
    made = tf.keras.Sequential([
        tf.keras.Input((10, 10, 1)), layers.Conv2D(width, 3, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2),
        layers.MaxPooling2D(2, strides=1, padding="same"), layers.Flatten(), layers.Dense(5)])
    made.set_weights([rng.normal(0, 0.15, w.shape) for w in made.get_weights()])
    return made


teacher, student = net(8), net(4)
x, y = rng.normal(size=(32, 10, 10, 1)).astype("f"), rng.randint(0, 5, 32)
model = Distiller(student, teacher)
model.compile(tf.keras.optimizers.Adam(0.01), metrics=[tf.keras.metrics.SparseCategoricalAccuracy()], temperature=10)
history = model.fit(x, y, epochs=3, batch_size=16, shuffle=False, verbose=0).history

first, second = tf.keras.Input((10, 10, 1)), tf.keras.Input((10, 10, 1))
embedding = tf.keras.Model(first, layers.Dense(6, activation="tanh")(layers.Flatten()(first)))
apart = layers.Lambda(lambda both: ops.sqrt(ops.maximum(ops.sum(ops.square(both[0] - both[1]), axis=1, keepdims=True), 1e-7)),
                      output_shape=(1,))([embedding(first), embedding(second)])
pairs = tf.keras.Model([first, second], layers.Dense(1, activation="sigmoid")(apart))
pairs.set_weights([rng.normal(0, 0.1, w.shape) for w in pairs.get_weights()])


def contrastive(y_true, y_pred):
    return ops.mean((1 - y_true) * ops.square(y_pred) + y_true * ops.square(ops.maximum(1 - y_pred, 0)))


pairs.compile("rmsprop", contrastive, metrics=["accuracy"])
told = pairs.fit([x, x[::-1]], (y != y[::-1]).astype("f"), epochs=3, batch_size=8, shuffle=False, verbose=0).history
print(json.dumps({"student": history, "evaluated": model.evaluate(x, y, verbose=0), "pairs": told}))
