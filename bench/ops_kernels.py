#!/usr/bin/env python3
"""Single ops beside TensorFlow's: bench/ops_kernels.py BUILD [--threads N] [NAME ...]

Both run in turns in one run; a figure is the least of all turns. Pictures are NHWC for TensorFlow
(its CPU kernels have no other) whatever they are for us. Names are prefixes of cases.
"""

import argparse
import os
import subprocess
import time

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("names", nargs="*")
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--turns", type=int, default=5)
parser.add_argument("--repeats", type=int, default=7)
parser.add_argument("--cpu-time", action="store_true",
                    help="the processor's time of all threads, for a machine that others use")
options = parser.parse_args()

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["OMP_NUM_THREADS"] = str(options.threads)
import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(options.threads)
tf.config.threading.set_inter_op_parallelism_threads(1)

CONVS = {"resnet_stem": (16, 3, 64, 64, 7, 2, 3), "resnet_1": (16, 64, 16, 64, 3, 1, 1),
         "resnet_2_down": (16, 64, 16, 128, 3, 2, 1), "resnet_2": (16, 128, 8, 128, 3, 1, 1),
         "resnet_3": (16, 256, 4, 256, 3, 1, 1), "resnet_4": (16, 512, 2, 512, 3, 1, 1),
         "resnet_2_skip": (16, 64, 16, 128, 1, 2, 0), "lenet_1": (128, 1, 28, 6, 5, 1, 2),
         "lenet_2": (128, 6, 14, 16, 5, 1, 0)}


def peer(name):
    """A tf.function for the case, and its arguments."""
    kind, which, *rest = name.split("/")
    if kind == "conv":
        n, cin, size, cout, k, stride, pad = CONVS[which]
        args = [tf.random.normal((n, size, size, cin)), tf.random.normal((k, k, cin, cout))]
        pads = [[0, 0], [pad, pad], [pad, pad], [0, 0]]
        forward = lambda x, w: tf.nn.conv2d(x, w, stride, pads)
    elif kind == "linear":
        rows, cin, cout = map(int, which.split("x"))
        args = [tf.random.normal((rows, cin)), tf.random.normal((cin, cout))]
        forward = tf.matmul
        if rest[-1] == "forward":
            bias = tf.random.normal((cout,))
            forward = lambda x, w: tf.nn.bias_add(tf.matmul(x, w), bias)
    elif kind == "attention":
        args = [tf.random.normal((16, 4, 128, 64)) for _ in range(3)]
        mask = tf.linalg.band_part(tf.ones((128, 128)), -1, 0) if which == "causal" else None

        def forward(q, k, v):
            scores = tf.matmul(q, k, transpose_b=True) * 0.125
            if mask is not None:
                scores += (1 - mask) * -1e9
            return tf.matmul(tf.nn.softmax(scores), v)
    elif kind == "pool":
        lenet = which == "lenet_max"
        args = [tf.random.normal((128, 28, 28, 6) if lenet else (16, 32, 32, 64))]
        forward = lambda x: tf.nn.max_pool2d(x, 2 if lenet else 3, 2, "SAME")
    else:
        args = [tf.random.normal((2048, 256)), tf.random.normal((1000, 256))]
        labels = tf.range(2048) * 37 % 1000
        forward = lambda x, w: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels, tf.matmul(x, w, transpose_b=True)))

    def training(*inputs):
        with tf.GradientTape() as tape:
            for t in inputs:
                tape.watch(t)
            result = forward(*inputs)
        return result, tape.gradient(result, inputs)

    return tf.function(training if rest[-1] == "training" else forward), args


program = subprocess.Popen([f"{options.build}/bench/bench_ops_kernels", str(options.threads)] +
                           (["--cpu-time"] if options.cpu_time else []),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ours(name, repeats):
    program.stdin.write(f"{name} {repeats}\n")
    program.stdin.flush()
    return float(program.stdout.readline())


clock = time.process_time if options.cpu_time else time.perf_counter


def theirs(function, args, repeats):
    least = float("inf")
    for _ in range(repeats):
        before = clock()
        result = function(*args)
        for t in tf.nest.flatten(result):
            t.numpy() if t.shape.rank == 0 else None
        least = min(least, clock() - before)
    return least


listed = subprocess.run([f"{options.build}/bench/bench_ops_kernels", "--list"], text=True,
                        capture_output=True, check=True).stdout.split()
names = [n for n in listed
         if not options.names or any(n.startswith(p) for p in options.names)]
print(f"{'op, ms':<42}{'Plimsoll':>10}{'TensorFlow':>12}{'ratio':>8}")
peers = {}
for name in names:
    key = name.replace("/nchw", "/nhwc")
    function, args = peers.setdefault(key, None) or peer(key)
    peers[key] = (function, args)
    ours(name, 2), theirs(function, args, 2)
    mine = other = float("inf")
    for _ in range(options.turns):
        mine = min(mine, ours(name, options.repeats))
        other = min(other, theirs(function, args, options.repeats))
    print(f"{name:<42}{mine * 1e3:>10.3f}{other * 1e3:>12.3f}{mine / other:>8.2f}", flush=True)
program.stdin.close()
program.wait()
