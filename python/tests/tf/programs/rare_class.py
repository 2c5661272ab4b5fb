"""A rare class: a first bias, class weights, and the metrics that matter."""

import json

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)


def fix(model, seed=1):
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()
    ])


n = 200
x = rng.normal(size=(n, 6)).astype("float32")
y = (x[:, 0] + 0.5 * x[:, 1] > 1.6).astype("float32")
positive = float(y.sum())
bias = np.log([positive / (n - positive)])
metrics = [
    tf.keras.metrics.TruePositives(name="tp"), tf.keras.metrics.FalsePositives(name="fp"),
    tf.keras.metrics.TrueNegatives(name="tn"), tf.keras.metrics.FalseNegatives(name="fn"),
    tf.keras.metrics.BinaryAccuracy(name="accuracy"), tf.keras.metrics.Precision(name="precision"),
    tf.keras.metrics.Recall(name="recall"), tf.keras.metrics.AUC(name="auc"), tf.keras.metrics.AUC(name="prc", curve="PR")]


def make_model(output_bias=None):
    if output_bias is not None:
        output_bias = tf.keras.initializers.Constant(output_bias)
    model = tf.keras.Sequential([
        tf.keras.Input((6,)), tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid", bias_initializer=output_bias)])
    fix(model)
    model.compile(tf.keras.optimizers.Adam(learning_rate=1e-2), tf.keras.losses.BinaryCrossentropy(), metrics=metrics)
    return model


model = make_model(output_bias=bias)
start = model.evaluate(x, y, batch_size=50, verbose=0, return_dict=True)
weights = {0: n / 2 / (n - positive), 1: n / 2 / positive}
history = model.fit(x, y, batch_size=25, epochs=4, class_weight=weights, shuffle=False, verbose=0,
                    validation_data=(x[:50], y[:50]))
end = model.evaluate(x, y, batch_size=50, verbose=0)
print(json.dumps({"bias": bias.tolist(), "start": start, "end": end,
                  "history": {k: [float(v) for v in vs] for k, vs in history.history.items()}}))
