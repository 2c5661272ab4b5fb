"""Cases of the elementwise family: NumPy, and TensorFlow for activations and gradients."""

import math
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from recorder import DType, Recorder

r = Recorder("elementwise")
SHAPES = [(2, 37), (), (0, 4)]


def gradient_of(function, x, dy):
    t = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(t)
        y = function(t)
    return tape.gradient(y, t, output_gradients=tf.constant(dy)).numpy()


def normal(*shape):
    return r.normal(*shape, scale=1.5)


def positive(*shape):
    return r.uniform(0.05, 4, *shape)


def angle(*shape):
    return r.normal(*shape, scale=9)


# TensorFlow's own takes its constants in f32.
def gelu(x):
    return 0.5 * x * (1 + tf.math.erf(x / np.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


drawn = {}  # the same inputs for all functions, to keep the file small


def unary(op, function, draw=normal, gradient=None, tolerance=1.0, shapes=SHAPES, **attributes):
    """`gradient`: "x" or "y", from what the op's gradient is computed."""
    for shape in shapes:
        x = drawn.setdefault((draw, shape), None)
        if x is None:
            x = drawn[draw, shape] = draw(*shape)
        y = np.asarray(function(tf.constant(x)))
        r.case(op, [x], [y], tolerance=tolerance, **attributes)
        if gradient:
            dy = np.asarray(drawn[normal, shape])[::-1] if shape else np.array(-0.7)
            kept = x if gradient == "x" else y
            # Differences across the kink of relu would say nothing.
            smooth = {} if np.all(kept != 0) else {"gradient": False}
            r.case(op + "_grad", [dy, kept], [gradient_of(function, x, dy)], tolerance=tolerance,
                   **smooth, **attributes)


unary("neg", lambda x: -x)
unary("abs", tf.abs, gradient="x")
unary("sign", tf.sign)
unary("square", tf.square, gradient="x")
unary("sqrt", tf.sqrt, positive, gradient="y")
unary("rsqrt", tf.math.rsqrt, positive, gradient="y", tolerance=4)
unary("reciprocal", tf.math.reciprocal, positive, gradient="y", tolerance=4)
unary("exp", tf.exp)
unary("log", tf.math.log, positive)
unary("log1p", tf.math.log1p, lambda *s: r.uniform(-0.9, 4, *s), gradient="x", tolerance=4)
unary("sin", tf.sin, angle, gradient="x")
unary("cos", tf.cos, angle, gradient="x")
unary("erf", tf.math.erf, gradient="x")
unary("floor", tf.floor, lambda *s: r.normal(*s, scale=20))
unary("round", tf.round, lambda *s: np.floor(r.normal(*s, scale=9)) + 0.5)
unary("relu", tf.nn.relu, gradient="y")
unary("leaky_relu", lambda x: tf.where(x > 0, x, 0.2 * x), gradient="y", slope=0.2)
unary("leaky_relu", tf.nn.relu, gradient="y", shapes=[(5,)], slope=0.0)
unary("elu", tf.nn.elu, gradient="y", alpha=1.0)
unary("sigmoid", tf.sigmoid, gradient="y")
unary("tanh", tf.tanh, gradient="y")
unary("silu", tf.nn.silu, gradient="x")
unary("softplus", tf.nn.softplus, gradient="x")
unary("gelu", gelu, gradient="x", tanh=False)
unary("gelu", gelu_tanh, gradient="x", tanh=True)
unary("scale", lambda x: x * -2.5, factor=-2.5)
unary("shift", lambda x: x + 0.75, offset=0.75)
unary("clip", lambda x: tf.clip_by_value(x, -0.5, 1.25), low=-0.5, high=1.25)
for shape in SHAPES:
    x, dy = r.normal(*shape), r.normal(*shape)
    r.case("clip_grad", [dy, x], [np.where((x < -0.5) | (x > 0.5), 0, dy)], low=-0.5, high=0.5)
r.case("clip_grad", [np.array([1.0, 2.0, 3.0]), np.array([-0.5, 0.5, 0.75])],
       [np.array([1.0, 2.0, 0.0])], gradient=False, low=-0.5, high=0.5)
unary("stop_gradient", lambda x: x)
for op, function in (("exp", tf.exp), ("tanh", tf.tanh), ("gelu", gelu)):
    attributes = {"tanh": False} if op == "gelu" else {}
    unary(op, function, shapes=[(1031,)], **attributes)

# The ends of the range.
special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 700.0, -700.0])
with np.errstate(all="ignore"):
    for op, y, attributes in (
            ("exp", np.exp(special), {}), ("sqrt", np.sqrt(special), {}),
            ("log", np.log(special), {}), ("log1p", np.log1p(special), {}),
            ("tanh", np.tanh(special), {}), ("abs", np.abs(special), {}),
            ("relu", np.where(special < 0, 0, special), {}),
            ("sign", np.sign(special), {}), ("reciprocal", 1 / special, {}),
            ("sigmoid", 1 / (1 + np.exp(-special)), {}),
            ("softplus", np.logaddexp(0, special), {}),
            ("elu", np.where(special > 0, special, np.expm1(special)), {"alpha": 1.0}),
            ("erf", np.vectorize(math.erf)(special), {}), ("floor", np.floor(special), {}),
            ("clip", np.clip(special, -2, 3), {"low": -2.0, "high": 3.0})):
        r.case(op, [special], [y], gradient=False, dtypes=False, **attributes)

# Integers.
small = r.integers(0, 9, 3, 7)
signed = r.integers(-100, 100, 5, 3, dtype=np.int32)
for op, function in (("neg", np.negative), ("abs", np.abs), ("sign", np.sign),
                     ("square", np.square)):
    r.case(op, [signed], [function(signed)], dtypes=False)
    r.case(op, [small * 0 + 1 if op == "neg" else small],
           [function(small * 0 + 1 if op == "neg" else small)], dtypes=op != "neg")
r.case("scale", [small], [small * 3], factor=3.0)
r.case("shift", [small], [small + 7], offset=7.0)
r.case("clip", [small], [np.clip(small, 2, 5)], low=2.0, high=5.0)

# Two tensors.
PAIRS = [((3, 37), (37,)), ((7,), (2, 7)), ((2, 3), (2, 3)), ((4, 5), ()), ((), (4, 5)),
         ((), ()), ((4, 1), (1, 5)), ((2, 3, 1, 5), (3, 4, 1)), ((2, 3, 7), (3, 1)), ((0, 4), (4,)),
         ((3, 0), (3, 1)), ((1,), (2, 3)), ((1, 70), (1, 1))]
binary_ops = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
              "maximum": np.maximum, "minimum": np.minimum, "pow": np.power}
for op, function in binary_ops.items():
    for a_shape, b_shape in PAIRS:
        a, b = r.normal(*a_shape), r.normal(*b_shape)
        if op == "div":
            b = np.sign(b) * (np.abs(b) + 0.3)
        if op == "pow":
            a = np.abs(a) + 0.3
        r.case(op, [a, b], [function(a, b)], tolerance=4 if op in ("div", "pow") else 1)
        y = np.asarray(function(a, b))
        dy = r.normal(*y.shape)
        if y.size > 20 and (a_shape, b_shape) != PAIRS[0]:
            continue
        if op == "div":
            r.case("div_grad", [dy, y, b], [-dy * a / b**2], tolerance=8)
        if op == "pow":
            r.case("pow_grad", [dy, a, b], [dy * b * a**(b - 1)], tolerance=16)
            r.case("pow_exponent_grad", [dy, y, a], [dy * y * np.log(a)], tolerance=16)
        if op in ("maximum", "minimum"):
            first = a >= b if op == "maximum" else a <= b
            r.case(op + "_grad", [dy, a, b], [np.where(first, dy, 0)], second=False)
            r.case(op + "_grad", [dy, a, b], [np.where(first, 0, dy)], second=True)
long = r.normal(1031)
r.case("add", [long, long[::-1]], [long + long[::-1]])
r.case("mul", [long, np.array(0.5)], [long * 0.5])
# Channels in the middle, as a picture's bias has them.
x, c = r.normal(2, 5, 7, 3), r.normal(5, 1, 1)
r.case("add", [x, c], [x + c])
a, b = r.integers(20, 60, 3, 37), r.integers(1, 20, 37)
for op, function in (("add", np.add), ("sub", np.subtract), ("maximum", np.maximum),
                     ("minimum", np.minimum), ("div", np.floor_divide)):
    r.case(op, [a, b], [function(a, b)])
a = r.integers(0, 10, 4, 9)
r.case("mul", [a, a], [a * a])
a = np.array([-7, 7, -7, 7, -128], dtype=np.int8)
b = np.array([2, -2, -2, 2, -1], dtype=np.int8)
r.case("div", [a, b], [np.array([-3, -3, 3, 3, -128], dtype=np.int8)], dtypes=False)
big = np.array([2**31 - 1, -2**31], dtype=np.int32)
r.case("add", [big, big], [big + big], dtypes=False)
r.case("mul", [big, big], [big * big], dtypes=False)
nan = np.array([np.nan, 1.0, np.nan, 2.0])
other = np.array([1.0, np.nan, np.nan, 2.0])
r.case("maximum", [nan, other], [np.maximum(nan, other)], gradient=False)
r.case("minimum", [nan, other], [np.minimum(nan, other)], gradient=False)
r.case("maximum_grad", [np.ones(4), nan, other], [np.array([1.0, 0.0, 1.0, 1.0])], second=False)
r.case("pow_grad", [np.ones(2), np.zeros(2), np.array([0.0, 2.0])], [np.zeros(2)], gradient=False)

# Comparisons.
comparisons = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less,
               "less_equal": np.less_equal}
for op, function in comparisons.items():
    for a_shape, b_shape in (((3, 37), (37,)), ((2, 1), (5,)), ((0, 4), (4,)), ((), ())):
        a = r.integers(-3, 3, *a_shape).astype(np.float64)
        b = r.integers(-3, 3, *b_shape).astype(np.float64)
        r.case(op, [a, b], [function(a, b)])
        a, b = r.integers(0, 4, *a_shape), r.integers(0, 4, *b_shape)
        r.case(op, [a, b], [function(a, b)])
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    r.case(op, [a, b], [function(a, b)])
    r.case(op, [nan, other], [function(nan, other)])
for op, function in (("logical_and", np.logical_and), ("logical_or", np.logical_or)):
    for a_shape, b_shape in (((3, 37), (37,)), ((2, 1), (5,)), ((0, 4), (4,)), ((), ())):
        a, b = r.integers(0, 2, *a_shape) > 0, r.integers(0, 2, *b_shape) > 0
        r.case(op, [a, b], [function(a, b)])
for shape in SHAPES:
    a = r.integers(0, 2, *shape) > 0
    r.case("logical_not", [a], [~a])
    x = r.normal(*shape)
    r.case("is_finite", [x], [np.isfinite(x)])
r.case("is_finite", [special], [np.isfinite(special)])

# where
for shapes in (((3, 37), (3, 37), (3, 37)), ((3, 1), (37,), ()), ((), (2, 3), (3,)),
               ((0, 4), (4,), ()), ((5,), (2, 1), (2, 5))):
    condition = r.integers(0, 2, *shapes[0]) > 0
    a, b = r.normal(*shapes[1]), r.normal(*shapes[2])
    r.case("where", [condition, a, b], [np.where(condition, a, b)])
    a, b = r.integers(-9, 9, *shapes[1]), r.integers(-9, 9, *shapes[2])
    r.case("where", [condition, a, b], [np.where(condition, a, b)])

# cast: what does not fit becomes the nearest that does, NaN 0.
NAMES = {"f64": np.float64, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8,
         "u16": np.uint16, "u8": np.uint8, "bool": np.bool_}


def cast(x, to):
    if to == "bool":
        return x != 0
    if to == "f64":
        return x.astype(np.float64)
    info = np.iinfo(NAMES[to])
    # 2^63 is no float64 below it.
    values = [0 if v != v else (info.max if v >= info.max else info.min if v <= info.min else int(v))
              for v in x.ravel().tolist()]
    return np.array(values, dtype=NAMES[to]).reshape(x.shape)


floats = np.array([0.0, -0.0, 0.4, -0.4, 0.5, 1.5, -1.5, 2.5, 127.9, 128.0, -128.9, -129.0, 255.5,
                   256.0, 65535.5, 65536.0, -32769.0, 2147483647.5, -2147483649.0, 1e10, -1e10,
                   9.3e18, -9.3e18, np.inf, -np.inf, np.nan])
integers = np.array([0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 65535,
                     65536, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**62])
for to in NAMES:
    if to != "f64":
        r.case("cast", [floats], [cast(floats, to)], dtypes=False, gradient=False, dtype=DType(to))
    if to != "i64":
        r.case("cast", [integers], [cast(integers, to)], dtypes=False, dtype=DType(to))
    flags = np.array([True, False, True])
    r.case("cast", [flags], [cast(flags, to)], dtype=DType(to))
for shape in SHAPES:
    x = np.trunc(r.normal(*shape, scale=30))
    r.case("cast", [x], [x.astype(np.int64)], gradient=False, dtype=DType("i64"))
    x = r.normal(*shape).astype(np.float32).astype(np.float64)
    r.case("cast", [x], [x], gradient=False, dtype=DType("f32"))
    r.case("cast", [x], [x], dtypes=False, dtype=DType("f64"))

# full
for shape in SHAPES:
    r.case("full", [], [np.full(shape, 2.5)], shape=shape, dtype=DType("f64"), value=2.5)
    r.case("full", [], [np.full(shape, 7)], shape=shape, dtype=DType("i64"), value=7.0)
    r.case("full", [], [np.full(shape, True)], shape=shape, dtype=DType("bool"), value=1.0)
r.write()
