"""A transformer block on token ids, with positions."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


class Block(tf.keras.layers.Layer):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.att = tf.keras.layers.MultiHeadAttention(num_heads=heads, key_dim=width)
        self.ffn = tf.keras.Sequential([tf.keras.layers.Dense(inner, activation="relu"), tf.keras.layers.Dense(width)])
        self.norm1 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.norm2 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.drop = tf.keras.layers.Dropout(0.0)

    def call(self, inputs):
        h = self.norm1(inputs + self.drop(self.att(inputs, inputs)))
        return self.norm2(h + self.ffn(h))


class Positions(tf.keras.layers.Layer):
    def __init__(self, length, vocabulary, width):
        super().__init__()
        self.tokens = tf.keras.layers.Embedding(vocabulary, width)
        self.places = tf.keras.layers.Embedding(length, width)

    def call(self, x):
        return self.tokens(x) + self.places(tf.range(0, tf.shape(x)[-1]))


x = rng.randint(0, 40, size=(32, 9))
y = rng.randint(0, 2, size=32)
inputs = tf.keras.layers.Input(shape=(9,))
h = Block(8, 2, 16)(Positions(9, 40, 8)(inputs))
outputs = tf.keras.layers.Dense(2, activation="softmax")(tf.keras.layers.GlobalAveragePooling1D()(h))
model = tf.keras.Model(inputs, outputs)
fix(model)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, epochs=3, batch_size=8, shuffle=False, verbose=0)
print(json.dumps({"history": history.history, "params": model.count_params(),
                  "predict": model.predict(x[:2], verbose=0).tolist()}))
