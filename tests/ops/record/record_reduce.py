"""Cases of the reductions, from NumPy."""

import numpy as np
from recorder import Recorder

r = Recorder("reduce")

CASES = [((3, 37), [1]), ((3, 37), [0]), ((3, 37), [0, 1]), ((2, 3, 4), [1]), ((2, 3, 4), [0, 2]),
         ((2, 3, 2, 3), [0, 2]), ((2, 3, 2, 3), [1, 3]), ((), []), ((5,), [0]), ((1, 4, 1), [0, 2]),
         ((4, 2), [])]
EMPTY = [((0, 3), [0]), ((3, 0), [1]), ((0, 3), [1])]
functions = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
for op, function in functions.items():
    for shape, axes in CASES:
        x = r.apart(*shape) if op in ("max", "min") else r.normal(*shape)
        for keep in (False, True):
            y = function(x, axis=tuple(axes), keepdims=keep)
            r.case(op, [x], [y], axes=axes, keep_dims=keep, tolerance=8)
    for shape, axes in EMPTY:
        if op in ("max", "min") and shape[axes[0]] == 0:
            continue
        x = np.zeros(shape)
        y = np.full(np.sum(x, axis=tuple(axes)).shape, np.nan)
        if op != "mean":
            y = function(x, axis=tuple(axes))
        r.case(op, [x], [y], axes=axes, keep_dims=False)

# Longer than a piece of a row, and more rows than a group of columns.
x = r.integers(-4, 5, 9000, dtype=np.int8)
r.case("sum", [x], [x.astype(np.int64).sum().astype(np.int8)], axes=[0], keep_dims=False,
       dtypes=False)
x = r.normal(1300)
r.case("sum", [x], [x.sum()], axes=[0], keep_dims=False, tolerance=8)
r.case("mean", [x.reshape(650, 2)], [x.reshape(650, 2).mean(0)], axes=[0], keep_dims=False,
       tolerance=8)
r.case("max", [x.reshape(650, 2)], [x.reshape(650, 2).max(0)], axes=[0], keep_dims=False)

# Integers and NaN.
x = r.integers(0, 4, 3, 37)
for op in ("sum", "max", "min"):
    r.case(op, [x], [functions[op](x, axis=1)], axes=[1], keep_dims=False)
    r.case(op, [x], [functions[op](x, axis=0)], axes=[0], keep_dims=False)
x = r.integers(1, 3, 3, 5)
r.case("prod", [x], [x.prod(1)], axes=[1], keep_dims=False)
x = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])
for op in ("max", "min"):
    for axes in ([0], [1], [0, 1]):
        r.case(op, [x], [functions[op](x, axis=tuple(axes))], axes=axes, keep_dims=False,
               gradient=False)

for op, function in (("all", np.all), ("any", np.any)):
    for shape, axes in CASES + EMPTY:
        x = r.integers(0, 8, *shape) > (0 if op == "all" else 6)
        r.case(op, [x], [function(x, axis=tuple(axes))], axes=axes, keep_dims=False)

# Equal ones share the gradient.
for shape, axes in (((3, 37), [1]), ((3, 37), [0]), ((2, 3, 4), [0, 2]), ((0, 3), [1]), ((4,), [0])):
    x = r.integers(0, 4, *shape).astype(np.float64)
    y = x.max(axis=tuple(axes), initial=-9)
    dy = r.normal(*y.shape)
    order = [i for i in range(x.ndim) if i not in axes] + axes
    rows = x.transpose(order).reshape(y.size, -1) if x.size else np.zeros((0, 3))
    dx = np.zeros_like(rows)
    for i in range(y.size):
        largest = rows[i] == rows[i].max()
        dx[i, largest] = dy.flat[i] / largest.sum()
    dx = dx.reshape([shape[i] for i in order]).transpose(np.argsort(order))
    r.case("extreme_grad", [dy, x, y], [dx], axes=axes)

for shape, axes in (((3, 7), [1]), ((3, 7), [0]), ((2, 3, 4), [0, 2]), ((0, 3), [1])):
    x = r.normal(*shape)
    if x.size:
        x.flat[0] = 0
        x.flat[1] = 0
        x.flat[-1] = 0
    y = x.prod(axis=tuple(axes), keepdims=True)
    dy = r.normal(*y.shape)
    dx = np.zeros_like(x)
    for i in np.ndindex(*shape):
        others = x.copy()
        others[i] = 1
        dx[i] = (dy * others.prod(axis=tuple(axes), keepdims=True))[
            tuple(0 if d in axes else i[d] for d in range(x.ndim))]
    r.case("prod_grad", [dy, x], [dx], axes=axes, tolerance=8)

for shape, axis in (((3, 37), 1), ((3, 37), 0), ((2, 3, 4), 1), ((4,), 0), ((0, 3), 1)):
    x = r.integers(0, 9, *shape)
    r.case("argmax", [x], [x.argmax(axis)], axis=axis)
    x = r.apart(*shape)
    r.case("argmax", [x], [x.argmax(axis)], axis=axis, dtypes=False)
r.case("argmax", [np.array([1.0, np.nan, 7.0, np.nan])], [np.array(1)], axis=0)

for shape, k in (((3, 37), 5), ((3, 37), 37), ((2, 3, 4), 1), ((6,), 3), ((4,), 0), ((0, 3), 2)):
    for x in (r.apart(*shape), r.integers(0, 5, *shape)):
        index = np.argsort(-x, axis=-1, kind="stable")[..., :k]
        y = np.take_along_axis(x, index, -1)
        r.case("top_k", [x], [y, index], k=k, dtypes=x.dtype == np.int64)
        if x.dtype == np.int64:
            continue
        dy, dx = r.normal(*y.shape), np.zeros(shape)
        np.put_along_axis(dx, index, dy, -1)
        r.case("top_k_grad", [dy, index], [dx], size=shape[-1])
x = np.array([1.0, np.nan, 7.0, np.nan, np.inf])
r.case("top_k", [x], [x[[1, 3, 4]], np.array([1, 3, 4])], k=3, gradient=False)
r.write()
