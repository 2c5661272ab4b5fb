"""What the scripts share. TensorFlow is imported here; ready() says that it, and the script's own arrays, fit."""

import json

import numpy as np
import tensorflow as tf


def ready():
    print("READY", flush=True)


def report(**numbers):
    plain = {name: np.asarray(value, "float64").reshape(-1).tolist() for name, value in numbers.items()}
    print("RESULT " + json.dumps(plain), flush=True)


def fixed(model, seed=1):
    """The same weights in every run: of matrices, draws that keep the size of what goes through."""
    draw = np.random.RandomState(seed)
    model.set_weights([
        (draw.normal(size=w.shape) / np.sqrt(np.prod(w.shape[:-1]))).astype("float32") if w.ndim > 1 else w
        for w in model.get_weights()
    ])


def rows(count, features, seed):
    x = np.random.RandomState(seed).uniform(-1, 1, (count, features)).astype("float32")
    return x, np.sin(x.sum(1, keepdims=True)).astype("float32")


def pictures(count, size):
    x = np.random.RandomState(8).randint(0, 256, (count, size, size, 3)).astype("uint8")
    return (x / np.float32(255)).astype("float32"), (x[:, 0, 0, 0] % 10).astype("int32")


def sequences(count, steps, features):
    x = np.random.RandomState(9).uniform(-1, 1, (count, steps, features)).astype("float32")
    return x, x[:, :, 0].mean(1, keepdims=True)
