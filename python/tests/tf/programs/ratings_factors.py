"""Ratings by factors of users and things, with biases, by Adagrad and an LR schedule."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


users, things = 12, 15
pairs = np.stack([rng.randint(0, users, 120), rng.randint(0, things, 120)], 1)
ratings = (3 + np.sin(pairs[:, 0]) + np.cos(pairs[:, 1]) * 0.5).astype("float32")


class Factors(tf.keras.Model):
    def __init__(self, users, things, size, **kwargs):
        super().__init__(**kwargs)
        l2 = tf.keras.regularizers.l2(1e-4)
        self.user = tf.keras.layers.Embedding(users, size, embeddings_regularizer=l2, embeddings_initializer="he_normal")
        self.user_bias = tf.keras.layers.Embedding(users, 1)
        self.thing = tf.keras.layers.Embedding(things, size, embeddings_regularizer=l2, embeddings_initializer="he_normal")
        self.thing_bias = tf.keras.layers.Embedding(things, 1)

    def call(self, inputs):
        a, b = self.user(inputs[:, 0]), self.thing(inputs[:, 1])
        dots = tf.reduce_sum(a * b, axis=1, keepdims=True)
        return dots + self.user_bias(inputs[:, 0]) + self.thing_bias(inputs[:, 1]) + 3.0


model = Factors(users, things, 4)
model(pairs[:2])
fix(model)
rate = tf.keras.optimizers.schedules.PiecewiseConstantDecay([10, 20], [0.3, 0.1, 0.03])
model.compile(optimizer=tf.keras.optimizers.Adagrad(rate), loss="mse", metrics=[tf.keras.metrics.RootMeanSquaredError()])
history = model.fit(pairs, ratings, batch_size=20, epochs=4, validation_split=0.2, shuffle=False, verbose=0)
scores = model.predict(np.stack([np.zeros(things, int), np.arange(things)], 1), verbose=0).ravel()
print(json.dumps({"history": history.history, "best": np.argsort(-scores)[:3].tolist(), "score": float(scores.max()),
                  "names": [w.shape[0] for w in model.get_weights()]}))
