"""Models of recurrent and encoder layers as Keras has them, for ops_tf.py: those of bench_ops, layer by
layer. Each takes its vocabulary, features, sequences and tokens."""

import tensorflow as tf

layers = tf.keras.layers


def lstm_lm(vocabulary, features, batch, steps):
    return tf.keras.Sequential([
        tf.keras.Input((steps,), batch_size=batch), layers.Embedding(vocabulary, features),
        layers.LSTM(features, return_sequences=True), layers.LSTM(features, return_sequences=True),
        layers.Dense(vocabulary)])


class Bert(tf.keras.Model):
    """Four layers for masked words; tokens with id 0 are padding, and the head is the embedding's
    transpose."""

    def __init__(self, vocabulary, features, batch, tokens):
        super().__init__()
        heads = features // 64
        normal = tf.keras.initializers.RandomNormal(stddev=0.02)
        norm = lambda: layers.LayerNormalization(epsilon=1e-12)
        self.words = layers.Embedding(vocabulary, features, embeddings_initializer=normal)
        self.places = self.add_weight(shape=(tokens, features), initializer=normal)
        self.kinds = self.add_weight(shape=(2, features), initializer=normal)
        self.norm = norm()
        self.blocks = [(layers.MultiHeadAttention(heads, 64), norm(),
                        layers.Dense(4 * features, "gelu"), layers.Dense(features), norm())
                       for _ in range(4)]
        self.transform, self.last = layers.Dense(features, "gelu"), norm()
        self.bias = self.add_weight(shape=(vocabulary,), initializer="zeros")
        self(tf.zeros((batch, tokens), tf.int64))

    def call(self, ids, training=False):
        mask = (ids != 0)[:, None, :]
        x = self.norm(self.words(ids) + self.places + self.kinds[0])
        for attention, norm, up, down, end in self.blocks:
            x = norm(x + attention(x, x, attention_mask=mask, training=training))
            x = end(x + down(up(x)))
        x = self.last(self.transform(x))
        return tf.matmul(x, self.words.embeddings, transpose_b=True) + self.bias


# What makes each; its usual features, sequences and tokens; its vocabulary.
MODELS = {"lstm_lm": (lstm_lm, (650, 20, 35), 10000), "bert": (Bert, (512, 4, 128), 30522)}
