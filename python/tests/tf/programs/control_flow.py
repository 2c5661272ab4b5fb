"""Loops and branches in tf.function: cond, while_loop, TensorArray, map_fn, scan, and Python's own."""

import json

import numpy as np
import tensorflow as tf

out = {}


@tf.function
def collatz(n):
    steps = tf.constant(0)
    return tf.while_loop(lambda n, s: s < 5, lambda n, s: (tf.where(n % 2 == 0, n // 2, 3 * n + 1), s + 1), [n, steps])


out["while"] = [int(v) for v in collatz(tf.constant(7))]


@tf.function
def absolute(x):
    if x >= 0:
        sign = 1.0
        result = x
    else:
        sign = -1.0
        result = -x
    return result, sign


out["if"] = [[float(v) for v in absolute(tf.constant(v))] for v in (3.0, -4.0)]


@tf.function
def leaky(x):
    if tf.reduce_mean(x) > 0:
        return x * 2
    return x * 0.1


out["returns"] = [leaky(tf.constant(v)).numpy().tolist() for v in ([1.0, 2.0], [-1.0, -2.0])]


@tf.function
def powers(x):
    total = tf.zeros_like(x)
    for i in tf.range(4):
        if i % 2 == 0:
            total += x ** tf.cast(i, tf.float32)
        else:
            total -= x
    return total


out["for"] = powers(tf.constant([1.0, 2.0])).numpy().tolist()


@tf.function
def fibonacci(n):
    array = tf.TensorArray(tf.int32, size=n)
    a, b = tf.constant(0), tf.constant(1)
    for i in tf.range(n):
        array = array.write(i, a)
        a, b = b, a + b
    return array.stack()


out["array"] = fibonacci(7).numpy().tolist()
out["map_fn"] = tf.map_fn(lambda x: x * x + 1.0, tf.constant([1.0, 2.0, 3.0])).numpy().tolist()
out["scan"] = tf.scan(lambda a, x: a * 0.5 + x, tf.constant([1.0, 2.0, 3.0])).numpy().tolist()
out["foldl"] = float(tf.foldl(lambda a, x: a + x, tf.constant([1.0, 2.0, 3.0])))
out["cond"] = float(tf.cond(tf.constant(2) > 1, lambda: tf.constant(5.0), lambda: tf.constant(6.0)))
out["case"] = int(tf.case([(tf.constant(False), lambda: tf.constant(1)), (tf.constant(True), lambda: tf.constant(2))], default=lambda: tf.constant(3)))
out["switch"] = int(tf.switch_case(tf.constant(1), [lambda: tf.constant(10), lambda: tf.constant(20)]))


@tf.custom_gradient
def clip_gradient(x):
    def backward(dy):
        return tf.clip_by_value(dy, -0.5, 0.5)
    return tf.identity(x), backward


v = tf.Variable([1.0, 2.0])
with tf.GradientTape() as tape:
    y = tf.reduce_sum(clip_gradient(v * v) * tf.constant([3.0, 0.1]))
out["custom"] = tape.gradient(y, v).numpy().tolist()
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.stack([x[0] * x[1], x[0] ** 2])
out["jacobian"] = tape.jacobian(y, x).numpy().tolist()
with tf.GradientTape() as tape:
    tape.watch(x)
    first, second = x * 2.0, x ** 2
out["targets"] = tape.gradient([first, second], x).numpy().tolist()
with tf.GradientTape() as outer:
    outer.watch(x)
    with tf.GradientTape() as inner:
        inner.watch(x)
        y = tf.reduce_sum(x ** 3)
    g = inner.gradient(y, x)
out["hessian"] = outer.jacobian(g, x).numpy().tolist()
print(json.dumps(out))
