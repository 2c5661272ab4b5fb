"""Translation with additive attention: a decoder of one's own, one word after the other, trained on a tape."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
src, tgt = rng.randint(1, 12, (32, 7)), rng.randint(1, 12, (32, 6))
src[:, 5:] = 0
tgt[::3, 4:] = 0
batches = tf.data.Dataset.from_tensor_slices((src, tgt)).batch(8, drop_remainder=True)


class Encoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(12, 8)
        self.gru = tf.keras.layers.GRU(16, return_sequences=True, return_state=True)

    def call(self, x, hidden):
        return self.gru(self.embedding(x), initial_state=hidden)


class Attention(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.W1, self.W2 = tf.keras.layers.Dense(units), tf.keras.layers.Dense(units)
        self.V = tf.keras.layers.Dense(1)

    def call(self, query, values):
        score = self.V(tf.nn.tanh(self.W1(tf.expand_dims(query, 1)) + self.W2(values)))
        weights = tf.nn.softmax(score, axis=1)
        return tf.reduce_sum(weights * values, axis=1), weights


class Decoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(12, 8)
        self.gru = tf.keras.layers.GRU(16, return_sequences=True, return_state=True)
        self.fc, self.attention = tf.keras.layers.Dense(12), Attention(16)

    def call(self, x, hidden, enc_output):
        context, weights = self.attention(hidden, enc_output)
        x = tf.concat([tf.expand_dims(context, 1), self.embedding(x)], axis=-1)
        output, state = self.gru(x)
        return self.fc(tf.reshape(output, (-1, output.shape[2]))), state, weights


encoder, decoder = Encoder(), Decoder()
out, hid = encoder(src[:8], tf.zeros((8, 16)))
decoder(tf.ones((8, 1)), hid, out)
for model in (encoder, decoder):
    model.set_weights([rng.normal(0, 0.2, w.shape) for w in model.get_weights()])
optimizer = tf.keras.optimizers.Adam(0.01)
each_loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


@tf.function
def train_step(inp, targ, enc_hidden):
    loss = 0
    with tf.GradientTape() as tape:
        enc_output, dec_hidden = encoder(inp, enc_hidden)
        dec_input = tf.expand_dims([1] * 8, 1)
        for t in range(1, targ.shape[1]):
            predictions, dec_hidden, _ = decoder(dec_input, dec_hidden, enc_output)
            each = each_loss(targ[:, t], predictions)
            mask = tf.math.logical_not(tf.math.equal(targ[:, t], 0))
            loss += tf.reduce_mean(each * tf.cast(mask, each.dtype))
            dec_input = tf.expand_dims(targ[:, t], 1)
    variables = encoder.trainable_variables + decoder.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss / int(targ.shape[1])


losses = [float(train_step(inp, targ, tf.zeros((8, 16)))) for _ in range(4) for inp, targ in batches]
out, state = encoder(tf.convert_to_tensor(src[:1]), tf.zeros((1, 16)))
_, _, weights = decoder(tf.expand_dims([1], 0), state, out)

tied = tf.keras.layers.Embedding(6, 3)  # read as a matrix as well: its gradient is one
tied.build(None)
tied.set_weights([np.linspace(-1, 1, 18).reshape(6, 3)])
adam = tf.keras.optimizers.Adam(0.1)
for _ in range(3):
    with tf.GradientTape() as tape:
        logits = tf.matmul(tied(tf.constant([1, 1, 1, 2])), tied.embeddings, transpose_b=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3, 4, 5], logits=logits))
    adam.apply_gradients([(tape.gradient(loss, tied.embeddings), tied.embeddings)])
print(json.dumps({"losses": losses, "weights": weights.numpy().tolist(), "tied": tied.get_weights()[0].tolist()}))
