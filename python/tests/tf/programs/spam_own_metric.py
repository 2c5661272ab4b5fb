"""Messages as words, averaged; an F1 score of one's own as a metric."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


class F1Score(tf.keras.metrics.Metric):
    def __init__(self, name="f1", threshold=0.5, **kwargs):
        super().__init__(name=name, **kwargs)
        self.threshold = threshold
        self.tp = self.add_weight(name="tp", initializer="zeros")
        self.fp = self.add_weight(name="fp", initializer="zeros")
        self.fn = self.add_weight(name="fn", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = tf.cast(y_true, tf.float32)
        y_hat = tf.cast(y_pred > self.threshold, tf.float32)
        self.tp.assign_add(tf.reduce_sum(y_true * y_hat))
        self.fp.assign_add(tf.reduce_sum((1 - y_true) * y_hat))
        self.fn.assign_add(tf.reduce_sum(y_true * (1 - y_hat)))

    def result(self):
        precision = self.tp / (self.tp + self.fp + 1e-7)
        recall = self.tp / (self.tp + self.fn + 1e-7)
        return 2 * precision * recall / (precision + recall + 1e-7)

    def reset_state(self):
        for v in (self.tp, self.fp, self.fn):
            v.assign(0.0)


words = ["win", "cash", "now", "hello", "meeting", "lunch", "prize", "free", "tomorrow", "project"]
texts, labels = [], []
for i in range(80):
    spam = i % 2
    pool = words[:3] + words[6:8] if spam else words[3:6] + words[8:]
    texts.append(" ".join(rng.choice(pool, 4)) + ("!" if spam else "."))
    labels.append(spam)
texts, labels = np.array(texts), np.array(labels, "float32").reshape(-1, 1)
vectorize = tf.keras.layers.TextVectorization(max_tokens=20, output_sequence_length=6)
vectorize.adapt(texts)
ids = vectorize(texts)
model = tf.keras.Sequential([
    tf.keras.Input((6,), dtype="int64"), tf.keras.layers.Embedding(20, 8), tf.keras.layers.GlobalAveragePooling1D(),
    tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1, activation="sigmoid")])
fix(model)
model.compile(optimizer=tf.keras.optimizers.Adam(0.02), loss="binary_crossentropy", metrics=["accuracy", F1Score()])
dataset = tf.data.Dataset.from_tensor_slices((ids, labels)).batch(16).cache().prefetch(tf.data.AUTOTUNE)
history = model.fit(dataset.take(4), validation_data=dataset.skip(4), epochs=5, verbose=0)
scores = model.evaluate(dataset, verbose=0, return_dict=True)
print(json.dumps({"history": {k: [float(v) for v in vs] for k, vs in history.history.items()}, "scores": scores,
                  "vocabulary": sorted(vectorize.get_vocabulary()[2:])}))
