#!/usr/bin/env python3
"""TensorFlow's side of bench/ops.py: ops_tf.py MODEL THREADS, with sizes behind its name as for bench_ops

Reads a number of steps from each line and answers with a line of JSON, as bench_ops does. The
models are those of Plimsoll, layer by layer, in the layout TensorFlow's kernels are made for; a
step is one tf.function, and its optimizer TensorFlow's own fused update.
"""

import json
import os
import sys
import time

name, threads = sys.argv[1], int(sys.argv[2])
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import layers_tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(threads)
# As TensorFlow chooses by itself on a machine of so many cores.
tf.config.threading.set_inter_op_parallelism_threads(threads)
layers = tf.keras.layers


def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


def lenet():
    return tf.keras.Sequential([
        tf.keras.Input((28, 28, 1)), layers.Conv2D(6, 5, padding="same"), layers.MaxPool2D(),
        layers.ReLU(), layers.Conv2D(16, 5), layers.MaxPool2D(), layers.ReLU(), layers.Flatten(),
        layers.Dense(120, "relu"), layers.Dense(84, "relu"), layers.Dense(10)])


def resnet18():
    def conv(x, out, size, stride):
        x = layers.ZeroPadding2D(size // 2)(x) if size > 1 and stride > 1 else x
        padding = "same" if stride == 1 else "valid"
        x = layers.Conv2D(out, size, stride, padding, use_bias=False)(x)
        return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)

    inputs = tf.keras.Input((64, 64, 3))
    x = layers.ReLU()(conv(inputs, 64, 7, 2))
    x = layers.MaxPool2D(3, 2, "same")(x)
    for i in range(4):
        for block in range(2):
            stride = 2 if block == 0 and i > 0 else 1
            y = layers.ReLU()(conv(x, 64 << i, 3, stride))
            y = conv(y, 64 << i, 3, 1)
            x = layers.ReLU()(y + (conv(x, 64 << i, 1, 2) if stride == 2 else x))
    return tf.keras.Model(inputs, layers.Dense(1000)(layers.GlobalAveragePooling2D()(x)))


class Transformer(tf.Module):
    """gpt2: 4 layers, 256 features, 4 heads, the embedding's transpose as its head."""

    def __init__(self):
        normal = lambda *shape: tf.Variable(tf.random.normal(shape, stddev=0.02))
        zeros = lambda *shape: tf.Variable(tf.zeros(shape))
        norm = lambda: (tf.Variable(tf.ones(256)), zeros(256))
        self.words, self.positions = normal(1000, 256), normal(128, 256)
        self.blocks = [dict(n1=norm(), qkv=(normal(256, 768), zeros(768)),
                            out=(normal(256, 256), zeros(256)), n2=norm(),
                            up=(normal(256, 1024), zeros(1024)),
                            down=(normal(1024, 256), zeros(256))) for _ in range(4)]
        self.norm = norm()
        self.mask = (1 - tf.linalg.band_part(tf.ones((128, 128)), -1, 0)) * -1e9

    @staticmethod
    def dense(x, parameters):
        return tf.nn.bias_add(tf.matmul(x, parameters[0]), parameters[1])

    @staticmethod
    def normalised(x, parameters):
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, parameters[1], parameters[0], 1e-5)

    def attention(self, x, block):
        qkv = tf.reshape(self.dense(x, block["qkv"]), (16, 128, 3, 4, 64))
        q, k, v = tf.unstack(tf.transpose(qkv, (2, 0, 3, 1, 4)))
        weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * 0.125 + self.mask)
        mixed = tf.transpose(tf.matmul(weights, v), (0, 2, 1, 3))
        return self.dense(tf.reshape(mixed, (2048, 256)), block["out"])

    def __call__(self, ids, training):
        x = tf.reshape(tf.gather(self.words, ids) + self.positions, (2048, 256))
        for block in self.blocks:
            x += self.attention(self.normalised(x, block["n1"]), block)
            y = self.dense(self.normalised(x, block["n2"]), block["up"])
            x += self.dense(tf.nn.gelu(y, approximate=True), block["down"])
        return tf.matmul(self.normalised(x, self.norm), self.words, transpose_b=True)


class PlainSgd:
    def __init__(self, variables):
        pass

    def apply(self, variables, gradients):
        for v, g in zip(variables, gradients):
            if isinstance(g, tf.IndexedSlices):
                v.scatter_sub(tf.IndexedSlices(0.1 * g.values, g.indices))
            else:
                tf.raw_ops.ResourceApplyGradientDescent(var=v.handle, alpha=0.1, delta=g)


class Sgd:
    def __init__(self, variables):
        self.momentum = [tf.Variable(tf.zeros_like(v)) for v in variables]

    def apply(self, variables, gradients):
        for v, m, g in zip(variables, self.momentum, gradients):
            tf.raw_ops.ResourceApplyMomentum(var=v.handle, accum=m.handle, lr=0.01, grad=g,
                                             momentum=0.9)


class AdamW:
    def __init__(self, variables):
        self.first = [tf.Variable(tf.zeros_like(v)) for v in variables]
        self.second = [tf.Variable(tf.zeros_like(v)) for v in variables]
        self.powers = [tf.Variable(0.9), tf.Variable(0.999)]

    def apply(self, variables, gradients):
        powers = [p.read_value() for p in self.powers]
        for v, m, s, g in zip(variables, self.first, self.second, gradients):
            v.assign(v * (1 - 0.001 * 0.01))
            tf.raw_ops.ResourceApplyAdam(
                var=v.handle, m=m.handle, v=s.handle, beta1_power=powers[0],
                beta2_power=powers[1], lr=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, grad=g)
        self.powers[0].assign(powers[0] * 0.9)
        self.powers[1].assign(powers[1] * 0.999)


tf.reduce_sum(tf.ones((64, 64)) @ tf.ones((64, 64))).numpy()
# From here on it counts; the most so far was the import's.
with open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")
before = status("VmRSS")

generator = np.random.default_rng(7)
kind, _, given = name.partition(":")
if kind in layers_tf.MODELS:
    build, sizes, vocabulary = layers_tf.MODELS[kind]
    sizes = [int(size) for size in given.split(",")] if given else sizes
    model = build(vocabulary, *sizes)
    inputs = tf.constant(generator.integers(0, vocabulary, sizes[1:]))
    labels = tf.constant(generator.integers(0, vocabulary, sizes[1:]))
elif name == "transformer":
    model = Transformer()
    inputs = tf.constant(generator.integers(0, 1000, (16, 128)))
    labels = tf.constant(generator.integers(0, 1000, 2048))
else:
    model = {"lenet": lenet, "resnet18": resnet18}[name]()
    batch, size, channels, classes = (128, 28, 1, 10) if name == "lenet" else (16, 64, 3, 1000)
    inputs = tf.constant(generator.standard_normal((batch, size, size, channels), np.float32))
    labels = tf.constant(generator.integers(0, classes, batch))
# Keras's variables hold TensorFlow's.
variables = [getattr(v, "value", v) if not isinstance(v, tf.Variable) else v
             for v in model.trainable_variables]
optimizer = {"transformer": AdamW, "bert": AdamW, "lstm_lm": PlainSgd}.get(kind, Sgd)(variables)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            y, model(x, training=True)))
    gradients = tape.gradient(loss, variables)
    if not isinstance(optimizer, PlainSgd):
        gradients = [tf.convert_to_tensor(g) for g in gradients]
    optimizer.apply(variables, gradients)
    return loss


for line in sys.stdin:
    wall, cpu, loss = [], [], 0.0
    for _ in range(int(line)):
        at, used = time.perf_counter(), time.process_time()
        loss = float(step(inputs, labels))
        wall.append(time.perf_counter() - at)
        cpu.append(time.process_time() - used)
    print(json.dumps({"wall": wall, "cpu": cpu, "loss": loss,
                      "parameters": sum(int(np.prod(v.shape)) for v in variables),
                      "rss": status("VmHWM") - before}), flush=True)
