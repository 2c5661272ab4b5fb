"""The translator of the tutorial on transformers: blocks of layers, masks of padding, a schedule, and its own words."""

import json

import numpy as np
import tensorflow as tf

layers = tf.keras.layers
rng = np.random.RandomState(0)


class Positions(layers.Layer):
    def __init__(self, words, size):
        super().__init__()
        self.size, self.embedding = size, layers.Embedding(words, size, mask_zero=True)
        angles = np.arange(64)[:, None] / 10000 ** (np.arange(size // 2)[None, :] / (size / 2))
        self.places = tf.cast(np.concatenate([np.sin(angles), np.cos(angles)], axis=-1), tf.float32)

    def compute_mask(self, *args, **kwargs):
        return self.embedding.compute_mask(*args, **kwargs)

    def call(self, x):
        length = tf.shape(x)[1]
        x = self.embedding(x) * tf.math.sqrt(tf.cast(self.size, tf.float32))
        return x + self.places[tf.newaxis, :length, :]


class Block(layers.Layer):
    def __init__(self, causal, cross, size=16, inner=32):
        super().__init__()
        self.causal = causal
        self.mine, self.other = layers.MultiHeadAttention(2, size), layers.MultiHeadAttention(2, size) if cross else None
        self.norms, self.add = [layers.LayerNormalization() for _ in range(3)], layers.Add()
        self.inner = tf.keras.Sequential([layers.Dense(inner, activation="relu"), layers.Dense(size)])

    def call(self, x, context=None):
        x = self.norms[0](self.add([x, self.mine(query=x, value=x, key=x, use_causal_mask=self.causal)]))
        if self.other is not None:
            attended, self.scores = self.other(query=x, key=context, value=context, return_attention_scores=True)
            x = self.norms[1](self.add([x, attended]))
        return self.norms[2](self.add([x, self.inner(x)]))


class Translator(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.source, self.target = Positions(20, 16), Positions(20, 16)
        self.encoder, self.decoder = [Block(False, False) for _ in range(2)], [Block(True, True) for _ in range(2)]
        self.final = layers.Dense(20)

    def call(self, inputs):
        context, x = inputs
        context, x = self.source(context), self.target(x)
        for each in self.encoder:
            context = each(context)
        for each in self.decoder:
            x = each(x, context)
        return self.final(x)


class Warmup(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        return 0.02 * tf.math.minimum(tf.math.rsqrt(step), step * (10 ** -1.5))


def masked_loss(label, pred):
    mask = label != 0
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")(label, pred)
    mask = tf.cast(mask, loss.dtype)
    return tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)


def masked_accuracy(label, pred):
    pred = tf.argmax(pred, axis=2)
    label = tf.cast(label, pred.dtype)
    mask = tf.cast(label != 0, tf.float32)
    return tf.reduce_sum(tf.cast(label == pred, tf.float32) * mask) / tf.reduce_sum(mask)


pt, en = rng.randint(1, 20, (24, 9)), rng.randint(1, 20, (24, 8))
pt[:, 6:], en[::2, 5:] = 0, 0
model = Translator()
model((pt[:2], en[:2, :-1]))
model.set_weights([rng.normal(0, 0.15, w.shape) if w.ndim > 1 else w for w in model.get_weights()])
model.compile(tf.keras.optimizers.Adam(Warmup(), beta_1=0.9, beta_2=0.98, epsilon=1e-9), masked_loss,
              metrics=[masked_accuracy])
data = tf.data.Dataset.from_tensor_slices(((pt, en[:, :-1]), en[:, 1:])).batch(8)
first = model((pt[:2], en[:2, :-1])).numpy()
history = model.fit(data, epochs=2, validation_data=data, verbose=0).history
written = tf.TensorArray(tf.int64, size=0, dynamic_size=True).write(0, [1])
for i in tf.range(4):
    said = model([tf.convert_to_tensor(pt[:1]), tf.transpose(written.stack())], training=False)[:, -1:, :]
    written = written.write(i + 1, tf.argmax(said, axis=-1)[0])
print(json.dumps({"first": first.tolist(), "history": history, "scores": list(model.decoder[-1].scores.shape),
                  "said": tf.transpose(written.stack()).shape.as_list()}))
