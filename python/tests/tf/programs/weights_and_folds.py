"""Weights of classes and samples, regularizers, initializers, constraints, and folds that begin anew."""

import gc
import json

import numpy as np
import tensorflow as tf

K = tf.keras.backend
initializers = tf.keras.initializers
layers = tf.keras.layers
regularizers = tf.keras.regularizers

out = {}
r = np.random.RandomState(0)
x = r.normal(size=(48, 5)).astype("float32")
y = (x[:, 0] + 0.5 * x[:, 1] > 0.8).astype("int32")


def build(seed=1):
    m = tf.keras.Sequential([layers.Input((5,)),
        layers.Dense(8, activation="elu", kernel_regularizer=regularizers.L1L2(l1=0.001, l2=0.001),
        bias_regularizer=regularizers.l2(0.001), activity_regularizer=regularizers.L2(0.0001),
        kernel_constraint=tf.keras.constraints.MaxNorm(1.5)), layers.Dense(1, activation="sigmoid",
        kernel_regularizer="l2")])
    d = np.random.RandomState(seed)
    m.set_weights([(d.normal(size=w.shape) * 0.4).astype("float32") if w.ndim > 1 else w for w in m.get_weights()])
    m.compile(optimizer=tf.keras.optimizers.Adam(0.02), loss="binary_crossentropy", metrics=["accuracy"],
        weighted_metrics=[tf.keras.metrics.BinaryAccuracy(name="wacc")])
    return m


neg, pos = np.bincount(y)
total = neg + pos
class_weight = {0: 1 / neg * (total / 2.0), 1: 1 / pos * (total / 2.0)}
m = build()
out["class"] = m.fit(x, y, epochs=3, batch_size=16, class_weight=class_weight, shuffle=False, verbose=0).history
out["losses"] = len(m.losses)
sw = np.where(y == 1, 3.0, 1.0).astype("float32")
m = build()
out["sample"] = m.fit(x, y, epochs=3, batch_size=16, sample_weight=sw, shuffle=False, verbose=0,
    validation_data=(x[:8], y[:8], sw[:8])).history
m = build()
out["dsw"] = m.fit(tf.data.Dataset.from_tensor_slices((x, y[:, None], sw)).batch(16), epochs=2,
    verbose=0).history
out["eval"] = m.evaluate(x, y, sample_weight=sw, verbose=0)
folds, scores = (np.array_split(np.arange(48), 4), [])
for i, val in enumerate(folds):
    K.clear_session()
    gc.collect()
    train = np.concatenate([f for j, f in enumerate(folds) if j != i])
    model = build(seed=i)
    model.fit(x[train], y[train], epochs=2, batch_size=12, verbose=0, shuffle=False)
    scores.append(model.evaluate(x[val], y[val], verbose=0))
    out.setdefault("names", []).append(model.layers[0].name)
    del model
out["scores"] = scores
out["mean"] = [float(np.mean([s[0] for s in scores])), float(np.std([s[1] for s in scores]))]
inits = {"zeros": initializers.Zeros(), "ones": "ones", "const": initializers.Constant(2.5),
    "eye": initializers.Identity(gain=2.0)}
out["init"] = {k: initializers.get(v)(shape=(2, 2)).numpy().tolist() for k, v in inits.items()}
for k in ["glorot_uniform", "he_normal", "lecun_uniform", "random_normal", "truncated_normal", "orthogonal",
    "variance_scaling"]:
    v = initializers.get(k)(shape=(200, 50))
    v = np.asarray(v)
    out["std_" + k] = [list(v.shape), abs(float(v.std()) - {"glorot_uniform": 0.0894, "he_normal": 0.1,
        "lecun_uniform": 0.0707, "random_normal": 0.05, "truncated_normal": 0.044, "orthogonal": 0.0707,
        "variance_scaling": 0.0707}[k]) < 0.003]


def my_init(shape, dtype=None):
    return tf.ones(shape, dtype=dtype) * 0.5


def my_reg(w):
    return 0.1 * tf.reduce_sum(tf.abs(w))


class Centre(regularizers.Regularizer):
    def __init__(self, s=0.1):
        self.s = s

    def __call__(self, w):
        return self.s * tf.reduce_sum(tf.square(tf.reduce_mean(w, axis=0)))

    def get_config(self):
        return {"s": self.s}


l = layers.Dense(3, kernel_initializer=my_init, kernel_regularizer=my_reg, bias_regularizer=Centre())
l(tf.ones((1, 2)))
out["own"] = [float(l.losses[0]), l.kernel.numpy().tolist(),
    [float(regularizers.l1(0.1)(tf.constant([[1.0, -2.0]]))),
    float(regularizers.OrthogonalRegularizer(0.1, mode="rows")(tf.constant([[1.0, 2.0], [3.0, 4.0]])))]]
for c in [tf.keras.constraints.NonNeg(), tf.keras.constraints.UnitNorm(axis=0),
    tf.keras.constraints.MinMaxNorm(0.5, 1.0)]:
    out[type(c).__name__] = np.asarray(c(tf.constant([[1.0, -2.0], [0.1, 0.2]]))).tolist()
print(json.dumps(out))
