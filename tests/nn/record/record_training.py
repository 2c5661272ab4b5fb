"""Trains small models in TensorFlow and records their losses, for tests/nn/training_test.cpp.

    python tests/nn/record/record_training.py

writes tests/nn/recorded/<name>.safetensors: the initial weights under our parameters' names, the
batches as "batch.N.x" and "batch.N.y", and "losses" (float64), one for each step. Forward and
backward passes are TensorFlow's, in float32; the updates are the papers' formulas.
"""

import json
import pathlib
import struct

import numpy as np
import tensorflow as tf

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "recorded"
STEPS = 20
DTYPES = {"float32": "F32", "float64": "F64", "int64": "I64"}
random = np.random.default_rng(11)


def save(name, tensors):
    header, data = {}, b""
    for key, value in tensors.items():
        raw = np.ascontiguousarray(value).tobytes()
        header[key] = {"dtype": DTYPES[str(value.dtype)], "shape": list(value.shape),
                       "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def normal(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(np.float32)


# Each takes (parameter, gradient, state, step) and gives the new parameter, all float32.
def sgd(rate, momentum, nesterov=False, decay=0.0):
    def update(p, g, s, t):
        g = g + np.float32(decay) * p
        s["v"] = np.float32(momentum) * s.get("v", np.zeros_like(p)) + g
        d = g + np.float32(momentum) * s["v"] if nesterov else s["v"]
        return p - np.float32(rate) * d
    return update


def adam(rate, b1=0.9, b2=0.999, eps=1e-8, decay=0.0, decoupled=False):
    def update(p, g, s, t):
        if decoupled:
            p = p * np.float32(1 - rate * decay)
        else:
            g = g + np.float32(decay) * p
        s["m"] = np.float32(b1) * s.get("m", np.zeros_like(p)) + np.float32(1 - b1) * g
        s["v"] = np.float32(b2) * s.get("v", np.zeros_like(p)) + np.float32(1 - b2) * g * g
        m = s["m"] / np.float32(1 - b1 ** t)
        v = s["v"] / np.float32(1 - b2 ** t)
        return p - np.float32(rate) * m / (np.sqrt(v) + np.float32(eps))
    return update


def rmsprop(rate, rho=0.9, eps=1e-7):
    """Keras's: epsilon is under the root."""
    def update(p, g, s, t):
        s["v"] = np.float32(rho) * s.get("v", np.zeros_like(p)) + np.float32(1 - rho) * g * g
        return p - np.float32(rate) * g / np.sqrt(s["v"] + np.float32(eps))
    return update


def train(name, weights, batches, loss, update):
    values = {k: tf.Variable(v) for k, v in weights.items()}
    states = {k: {} for k in weights}
    losses = []
    for t in range(1, STEPS + 1):
        x, y = batches[(t - 1) % len(batches)]
        with tf.GradientTape() as tape:
            value = loss(values, tf.constant(x), tf.constant(y))
        gradients = tape.gradient(value, values)
        losses.append(float(value))
        for k, v in values.items():
            g = tf.convert_to_tensor(gradients[k]).numpy()
            v.assign(update(v.numpy(), g, states[k], t))
    recorded = dict(weights, losses=np.array(losses))
    for i, (x, y) in enumerate(batches):
        recorded[f"batch.{i}.x"], recorded[f"batch.{i}.y"] = x, y
    save(name, recorded)
    print(name, losses[0], losses[-1])


def cross_entropy(logits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


# ---------------------------------------------------- a convolutional net with batch statistics
def batch_norm(x, scale, bias):
    mean, variance = tf.nn.moments(x, [0, 1, 2])
    return tf.nn.batch_normalization(x, mean, variance, bias, scale, 1e-5)


def conv(x, weight, stride, pad):
    x = tf.pad(x, [[0, 0], [pad, pad], [pad, pad], [0, 0]])
    return tf.nn.conv2d(x, tf.transpose(weight, [2, 3, 1, 0]), stride, "VALID")


def convnet_loss(w, x, y):
    x = tf.transpose(x, [0, 2, 3, 1])
    x = conv(x, w["conv1.weight"], 1, 1)
    x = tf.nn.relu(batch_norm(x, w["bn1.weight"], w["bn1.bias"]))
    x = tf.nn.max_pool2d(x, 2, 2, "VALID")
    x = conv(x, w["conv2.weight"], 2, 1) + w["conv2.bias"]
    x = tf.nn.relu(batch_norm(x, w["bn2.weight"], w["bn2.bias"]))
    x = tf.reduce_mean(x, [1, 2])
    return cross_entropy(x @ tf.transpose(w["fc.weight"]) + w["fc.bias"], y)


def one(*shape):
    return (1 + 0.1 * random.standard_normal(shape)).astype(np.float32)


convnet = {
    "conv1.weight": normal(8, 2, 3, 3, scale=0.3),
    "bn1.weight": one(8), "bn1.bias": normal(8, scale=0.1),
    "conv2.weight": normal(16, 8, 3, 3, scale=0.15), "conv2.bias": normal(16, scale=0.1),
    "bn2.weight": one(16), "bn2.bias": normal(16, scale=0.1),
    "fc.weight": normal(5, 16, scale=0.3), "fc.bias": normal(5, scale=0.1),
}
pictures = [(normal(16, 2, 12, 12), random.integers(0, 5, 16)) for _ in range(4)]
train("convnet_sgd", convnet, pictures, convnet_loss, sgd(0.05, 0.9, decay=1e-3))
train("convnet_nesterov", convnet, pictures, convnet_loss, sgd(0.02, 0.9, nesterov=True))

# ------------------------------------------------------------------------------ a transformer
VOCABULARY, CONTEXT, FEATURES, LAYERS, HEADS = 40, 12, 24, 2, 3


def layer_norm(x, scale, bias):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, bias, scale, 1e-5)


def attention(x, w, at):
    n, t, d = x.shape
    q, k, v = tf.split(x @ w[at + "c_attn.weight"] + w[at + "c_attn.bias"], 3, axis=-1)

    def heads(z):
        return tf.transpose(tf.reshape(z, [n, t, HEADS, d // HEADS]), [0, 2, 1, 3])

    scores = heads(q) @ tf.transpose(heads(k), [0, 1, 3, 2]) / np.sqrt(d // HEADS).astype("f")
    hidden = np.triu(np.full((t, t), -1e30, np.float32), 1)
    mixed = tf.nn.softmax(scores + hidden) @ heads(v)
    mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [n, t, d])
    return mixed @ w[at + "c_proj.weight"] + w[at + "c_proj.bias"]


def transformer_loss(w, x, y):
    h = tf.gather(w["transformer.wte.weight"], x) + w["transformer.wpe.weight"]
    for i in range(LAYERS):
        at = f"transformer.h.{i}."
        h += attention(layer_norm(h, w[at + "ln_1.weight"], w[at + "ln_1.bias"]), w, at + "attn.")
        z = layer_norm(h, w[at + "ln_2.weight"], w[at + "ln_2.bias"])
        z = tf.nn.gelu(z @ w[at + "mlp.c_fc.weight"] + w[at + "mlp.c_fc.bias"], approximate=True)
        h += z @ w[at + "mlp.c_proj.weight"] + w[at + "mlp.c_proj.bias"]
    h = layer_norm(h, w["transformer.ln_f.weight"], w["transformer.ln_f.bias"])
    return cross_entropy(h @ tf.transpose(w["transformer.wte.weight"]), y)


transformer = {"transformer.wte.weight": normal(VOCABULARY, FEATURES, scale=0.3),
               "transformer.wpe.weight": normal(CONTEXT, FEATURES, scale=0.1)}
for i in range(LAYERS):
    at = f"transformer.h.{i}."
    for name, shape in {"ln_1": None, "attn.c_attn": (FEATURES, 3 * FEATURES),
                        "attn.c_proj": (FEATURES, FEATURES), "ln_2": None,
                        "mlp.c_fc": (FEATURES, 4 * FEATURES),
                        "mlp.c_proj": (4 * FEATURES, FEATURES)}.items():
        if shape is None:
            transformer[f"{at}{name}.weight"] = one(FEATURES)
            transformer[f"{at}{name}.bias"] = normal(FEATURES, scale=0.1)
        else:
            transformer[f"{at}{name}.weight"] = normal(*shape, scale=0.15)
            transformer[f"{at}{name}.bias"] = normal(shape[1], scale=0.1)
transformer["transformer.ln_f.weight"] = one(FEATURES)
transformer["transformer.ln_f.bias"] = normal(FEATURES, scale=0.1)
words = [(random.integers(0, VOCABULARY, (4, CONTEXT)), random.integers(0, VOCABULARY, (4, CONTEXT)))
         for _ in range(4)]
train("transformer_adamw", transformer, words, transformer_loss,
      adam(1e-3, decay=0.1, decoupled=True))


# ------------------------------------------------------------------------------- a perceptron
def mlp_loss(w, x, y):
    x = tf.nn.relu(x @ tf.transpose(w["fc1.weight"]) + w["fc1.bias"])
    x = tf.nn.relu(x @ tf.transpose(w["fc2.weight"]) + w["fc2.bias"])
    return cross_entropy(x @ tf.transpose(w["fc3.weight"]) + w["fc3.bias"], y)


mlp = {"fc1.weight": normal(32, 20, scale=0.3), "fc1.bias": normal(32, scale=0.1),
       "fc2.weight": normal(16, 32, scale=0.25), "fc2.bias": normal(16, scale=0.1),
       "fc3.weight": normal(5, 16, scale=0.3), "fc3.bias": normal(5, scale=0.1)}
points = [(normal(24, 20), random.integers(0, 5, 24)) for _ in range(4)]
train("mlp_adam", mlp, points, mlp_loss, adam(2e-3, decay=1e-2))
train("mlp_rmsprop", mlp, points, mlp_loss, rmsprop(1e-3))
