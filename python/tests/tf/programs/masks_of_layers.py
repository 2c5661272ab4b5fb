"""Where masks of padding go: through layers, merges and attention, in functional and subclassed models."""

import json

import numpy as np
import tensorflow as tf

layers = tf.keras.layers

ids = np.array([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0], [1, 2, 3, 4, 5]])
found = {}


def fix(model):
    draw = np.random.RandomState(1)
    model.set_weights([draw.normal(0, 0.5, w.shape) for w in model.get_weights()])


def attended(e):
    return layers.MultiHeadAttention(2, 3)(e, e)


KINDS = {
    "attention": attended,
    "by keyword": lambda e: layers.MultiHeadAttention(2, 3)(query=e, value=e, key=e),
    "residual": lambda e: layers.LayerNormalization()(layers.Add()([e, attended(e)])),
    "twice": lambda e: attended(attended(e)),
    "concat": lambda e: layers.Concatenate()([e, layers.Conv1D(4, 1)(e)]),
    "multiply": lambda e: layers.Multiply()([e, layers.Dense(4)(e)]),
    "average": lambda e: layers.Average()([e, layers.Conv1D(4, 1)(e)]),
    "ops": lambda e: e * 2.0 + layers.Dense(4)(e),
    "lstm": lambda e: layers.LSTM(4, return_sequences=True)(e),
}
for kind, f in KINDS.items():
    inputs = tf.keras.Input((5,), dtype="int32")
    x = f(layers.Embedding(8, 4, mask_zero=True)(inputs))
    model = tf.keras.Model(inputs, [layers.GlobalAveragePooling1D()(x), layers.LSTM(3)(x)])
    fix(model)
    found[kind] = [each.tolist() for each in model.predict(ids, verbose=0)]


class Block(tf.keras.Model):
    """Attention takes the masks off its inputs, so that the sum has none."""

    def __init__(self):
        super().__init__()
        self.e = layers.Embedding(8, 4, mask_zero=True)
        self.a, self.n = layers.MultiHeadAttention(2, 3), layers.LayerNormalization()
        self.add, self.p, self.l = layers.Add(), layers.GlobalAveragePooling1D(), layers.LSTM(3)

    def call(self, x):
        e = self.e(x)
        return self.p(self.n(self.add([e, self.a(query=e, value=e, key=e)]))), self.l(e)


block = Block()
block(ids)
fix(block)
found["subclassed"] = [each.numpy().tolist() for each in block(ids)]
found["subclassed, planned"] = [each.tolist() for each in block.predict(ids, verbose=0)]

words = tf.keras.Sequential([tf.keras.Input((5,)), layers.Embedding(8, 4), layers.Dense(8)])
fix(words)
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
words.compile("sgd", loss)
found["ignored"] = words.fit(ids, ids, epochs=2, batch_size=3, verbose=0).history
found["ignored, alone"] = float(loss(ids, words(ids)))
found["ignored, each"] = tf.keras.losses.SparseCategoricalCrossentropy(
    from_logits=True, ignore_class=0, reduction="none")(ids, words(ids)).numpy().tolist()
print(json.dumps(found))
