"""A translator of two transformer blocks with masks, written as layers; attention by hand."""

import json

import numpy as np
import tensorflow as tf

keras = tf.keras
layers = tf.keras.layers


class PositionalEmbedding(layers.Layer):
    def __init__(self, sequence_length, vocab_size, embed_dim, **kwargs):
        super().__init__(**kwargs)
        self.token_embeddings = layers.Embedding(vocab_size, embed_dim)
        self.position_embeddings = layers.Embedding(sequence_length, embed_dim)
        self.sequence_length, self.vocab_size, self.embed_dim = (sequence_length, vocab_size, embed_dim)

    def call(self, inputs):
        length = tf.shape(inputs)[-1]
        positions = tf.range(start=0, limit=length, delta=1)
        return self.token_embeddings(inputs) + self.position_embeddings(positions)

    def compute_mask(self, inputs, mask=None):
        return keras.ops.not_equal(inputs, 0)


class TransformerEncoder(layers.Layer):
    def __init__(self, embed_dim, dense_dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.attention = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.dense_proj = keras.Sequential([layers.Dense(dense_dim, activation="relu"),
            layers.Dense(embed_dim)])
        self.layernorm_1 = layers.LayerNormalization()
        self.layernorm_2 = layers.LayerNormalization()
        self.supports_masking = True

    def call(self, inputs, mask=None):
        padding_mask = mask[:, tf.newaxis, :] if mask is not None else None
        attention_output = self.attention(query=inputs, value=inputs, key=inputs, attention_mask=padding_mask)
        proj_input = self.layernorm_1(inputs + attention_output)
        return self.layernorm_2(proj_input + self.dense_proj(proj_input))


class TransformerDecoder(layers.Layer):
    def __init__(self, embed_dim, latent_dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.attention_1 = layers.MultiHeadAttention(num_heads, embed_dim)
        self.attention_2 = layers.MultiHeadAttention(num_heads, embed_dim)
        self.dense_proj = keras.Sequential([layers.Dense(latent_dim, activation="relu"),
            layers.Dense(embed_dim)])
        self.norms = [layers.LayerNormalization(epsilon=1e-06) for _ in range(3)]
        self.add = layers.Add()
        self.supports_masking = True

    def get_causal_attention_mask(self, inputs):
        input_shape = tf.shape(inputs)
        batch_size, sequence_length = (input_shape[0], input_shape[1])
        i = tf.range(sequence_length)[:, tf.newaxis]
        j = tf.range(sequence_length)
        mask = tf.reshape(tf.cast(i >= j, dtype="int32"), (1, input_shape[1], input_shape[1]))
        mult = tf.concat([tf.expand_dims(batch_size, -1), tf.constant([1, 1], dtype=tf.int32)], axis=0)
        return tf.tile(mask, mult)

    def call(self, inputs, encoder_outputs, mask=None):
        causal_mask = self.get_causal_attention_mask(inputs)
        out1 = self.norms[0](self.add([inputs, self.attention_1(query=inputs, value=inputs, key=inputs,
            attention_mask=causal_mask)]))
        a2, scores = self.attention_2(query=out1, value=encoder_outputs, key=encoder_outputs,
            return_attention_scores=True)
        out2 = self.norms[1](self.add([out1, a2]))
        return self.norms[2](self.add([out2, self.dense_proj(out2)]))


V, L, E = (20, 6, 8)
encoder_inputs = keras.Input(shape=(None,), dtype="int64", name="encoder_inputs")
e = PositionalEmbedding(L, V, E)(encoder_inputs)
encoder_outputs = TransformerEncoder(E, 12, 2)(e)
decoder_inputs = keras.Input(shape=(None,), dtype="int64", name="decoder_inputs")
dx = PositionalEmbedding(L, V, E)(decoder_inputs)
dx = TransformerDecoder(E, 12, 2)(dx, encoder_outputs)
dx = layers.Dropout(0.0)(dx)
decoder_outputs = layers.Dense(V, activation="softmax")(dx)
transformer = keras.Model([encoder_inputs, decoder_inputs], decoder_outputs, name="transformer")
d = np.random.RandomState(1)
transformer.set_weights([(d.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in transformer.get_weights()])
transformer.compile("rmsprop", loss=keras.losses.SparseCategoricalCrossentropy(ignore_class=0),
    metrics=["accuracy"])
r = np.random.RandomState(0)
src = r.randint(1, V, (16, L))
src[:, 4:] *= r.randint(0, 2, (16, 2))
tgt = r.randint(1, V, (16, L + 1))


def fmt(a, b):
    return ({"encoder_inputs": a, "decoder_inputs": b[:, :-1]}, b[:, 1:])


ds = tf.data.Dataset.from_tensor_slices((src, tgt)).batch(8).map(fmt)
h = transformer.fit(ds, epochs=3, verbose=0)
out = {"h": h.history, "p": transformer.predict({"encoder_inputs": src[:1], "decoder_inputs": tgt[:1, :-1]},
    verbose=0)[0, 0].tolist(), "count": transformer.count_params()}


class Bahdanau(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.W1 = layers.Dense(units)
        self.W2 = layers.Dense(units)
        self.V = layers.Dense(1)

    def call(self, query, values):
        score = self.V(tf.nn.tanh(self.W1(tf.expand_dims(query, 1)) + self.W2(values)))
        w = tf.nn.softmax(score, axis=1)
        return (tf.reduce_sum(w * values, axis=1), w)


att = Bahdanau(5)
c, w = att(tf.ones((2, 4)), tf.ones((2, 3, 6)))
out["bah"] = [list(c.shape), list(w.shape), w.numpy().ravel().tolist()]
q = tf.constant(r.normal(size=(2, 3, 4)).astype("float32"))
out["att"] = layers.Attention(use_scale=False)([q, q]).numpy().tolist()
out["add"] = layers.AdditiveAttention(use_scale=False)([q, q]).numpy().tolist()
mha = layers.MultiHeadAttention(2, 3)
o = mha(q, q, use_causal_mask=True)
out["mha"] = [list(o.shape), [list(w.shape) for w in mha.weights]]
print(json.dumps(out))
