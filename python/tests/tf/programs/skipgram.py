"""Skip-gram word vectors with negative samples: two embeddings and their products."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(6)
VOCABULARY, SIZE = 50, 8
words = rng.randint(0, VOCABULARY, 300)
target, context, label = [], [], []
for i in range(1, len(words) - 1):
    for other, good in ((words[i - 1], 1), (words[i + 1], 1), (rng.randint(VOCABULARY), 0), (rng.randint(VOCABULARY), 0)):
        target.append([words[i]])
        context.append([other])
        label.append(good)
target, context, label = np.array(target), np.array(context), np.array(label, "float32")


class Word2Vec(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.target = tf.keras.layers.Embedding(VOCABULARY, SIZE)
        self.context = tf.keras.layers.Embedding(VOCABULARY, SIZE)

    def call(self, pair):
        a, b = pair
        return tf.einsum("bte,bce->bc", self.target(a), self.context(b))


model = Word2Vec()
model((target[:2], context[:2]))
model.set_weights([(rng.normal(size=w.shape) * 0.3).astype("float32") for w in model.get_weights()])
model.compile(tf.keras.optimizers.Adam(0.01), tf.keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
history = model.fit((target, context), label[:, None], batch_size=64, epochs=3, shuffle=False, verbose=0)
table = model.target.get_weights()[0]
near = tf.math.top_k(tf.matmul(tf.math.l2_normalize(table, axis=1), tf.math.l2_normalize(table[:1], axis=1), transpose_b=True)[:, 0], 3)
print(json.dumps({"history": history.history, "near": near.values.numpy().tolist()}))
