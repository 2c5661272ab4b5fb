"""Cases of the shape and gather families, from NumPy."""

import numpy as np
from recorder import DType, Recorder

r = Recorder("shape")


def numbers(*shape, kind="float"):
    if kind == "float":
        return r.normal(*shape)
    if kind == "int":
        return r.integers(0, 100, *shape)
    return r.integers(0, 2, *shape).astype(bool)


# reshape, broadcast_to, transpose
for shape, to in [((3, 4), (2, 6)), ((), (1, 1)), ((5,), (5, 1)), ((0, 3), (3, 0)), ((1,), ())]:
    x = r.normal(*shape)
    r.case("reshape", [x], [x.reshape(to)], shape=to)
x = numbers(4, 3, kind="int")
r.case("reshape", [x], [x.reshape(12)], shape=[12])

for shape, to in [((), (3, 4)), ((1,), (5,)), ((3, 1), (3, 37)), ((37,), (3, 37)),
                  ((2, 1, 3, 1), (2, 4, 3, 5)), ((4, 1, 1), (2, 4, 3, 3)), ((3, 1), (3, 0)),
                  ((0, 1), (2, 0, 3)), ((1, 1), (1, 1))]:
    x = r.normal(*shape)
    r.case("broadcast_to", [x], [np.broadcast_to(x, to)], shape=to)
for kind in ("int", "bool"):
    x = numbers(3, 1, kind=kind)
    r.case("broadcast_to", [x], [np.broadcast_to(x, (3, 5))], shape=[3, 5])


def transpose(shape, order, kind="float"):
    x = numbers(*shape, kind=kind)
    r.case("transpose", [x], [x.transpose(order)], order=order)


transpose((), ())
transpose((7,), (0,))
transpose((3, 37), (1, 0))
transpose((33, 18), (1, 0))
transpose((2, 5, 3, 4), (0, 2, 1, 3))
transpose((2, 3, 5, 6), (0, 2, 3, 1))
transpose((2, 5, 6, 3), (0, 3, 1, 2))
transpose((2, 3, 4, 5), (3, 2, 1, 0))
transpose((2, 17, 19), (0, 2, 1))
transpose((2, 3, 1, 2, 2, 1, 2, 3), (7, 2, 4, 0, 6, 1, 3, 5))
transpose((3, 0, 2), (2, 0, 1))
transpose((9, 10), (1, 0), "int")
transpose((3, 4), (1, 0), "bool")


# concat, split
def concat(shapes, axis, kind="float"):
    xs = [numbers(*s, kind=kind) for s in shapes]
    r.case("concat", xs, [np.concatenate(xs, axis)], axis=axis)


concat([(3,), (5,)], 0)
concat([(3, 4), (3, 1), (3, 0), (3, 7)], 1)
concat([(2, 3, 4), (2, 2, 4)], 1)
concat([(1, 37), (2, 37), (4, 37)], 0)
concat([(2, 3)], 1)
concat([(0, 3), (0, 3)], 1)
concat([(0, 3), (2, 3)], 0)
concat([(2, 1), (2, 2)], 1, "int")
concat([(2, 1), (2, 2)], 1, "bool")
concat([(2,)] * 40, 0)


def split(shape, extents, axis, kind="float"):
    x = numbers(*shape, kind=kind)
    r.case("split", [x], np.split(x, np.cumsum(extents)[:-1], axis), extents=extents, axis=axis)


split((8,), [3, 5], 0)
split((3, 12), [4, 1, 0, 7], 1)
split((2, 5, 4), [3, 2], 1)
split((7, 37), [1, 2, 4], 0)
split((2, 3), [3], 1)
split((0, 3), [1, 2], 1)
split((2, 3), [1, 2], 1, "int")
split((2, 3), [1, 2], 1, "bool")


# pad: NumPy cannot take away, slicing can.
def pad(shape, before, after, value, kind="float"):
    x = numbers(*shape, kind=kind)
    cut = x[tuple(slice(max(0, -b), n + min(0, a)) for n, b, a in zip(shape, before, after))]
    width = [(max(0, b), max(0, a)) for b, a in zip(before, after)]
    y = np.pad(cut, width, constant_values=x.dtype.type(value)) if shape else x
    r.case("pad", [x], [y], before=before, after=after, value=float(value))


pad((), [], [], 1)
pad((5,), [2], [1], 0.5)
pad((3, 4), [0, 2], [1, 0], 0)
pad((2, 3, 4, 5), [0, 0, 1, 2], [0, 0, 2, 1], -1.5)
pad((3, 4), [0, 0], [0, 0], 7)
pad((3, 40), [-1, -2], [0, -3], 0)
pad((3, 4), [-1, 2], [2, -3], 2)
pad((3, 4), [-1, -2], [-2, -2], 0)
pad((3, 4), [-3, 1], [2, 0], 5)
pad((0, 3), [1, 0], [2, 1], 4)
pad((2, 3), [1, 1], [0, 1], 3, "int")
pad((2, 3), [1, 1], [0, 1], 1, "bool")


# slice and its gradient
def cut(shape, axis, begin, end, step, kind="float"):
    x = numbers(*shape, kind=kind)
    where = [slice(None)] * len(shape)
    where[axis] = slice(begin, end, step)
    y = x[tuple(where)]
    r.case("slice", [x], [y], axis=axis, begin=begin, end=end, step=step)
    back = np.zeros_like(x)
    back[tuple(where)] = y
    r.case("slice_grad", [y], [back], shape=shape, axis=axis, begin=begin, end=end, step=step)


cut((9,), 0, 2, 7, 1)
cut((9,), 0, 1, 9, 3)
cut((3, 37), 1, 5, 36, 1)
cut((3, 37), 1, 0, 37, 4)
cut((5, 37), 0, 1, 5, 2)
cut((2, 6, 3), 1, 1, 6, 2)
cut((4, 3), 0, 2, 2, 1)
cut((0, 3), 1, 0, 2, 1)
cut((4, 3), 0, 3, 4, 2**62)
cut((4, 3), 1, 0, 3, 2, "int")
cut((4, 3), 1, 0, 3, 2, "bool")


# gather and scatter_add
def gather(shape, indices, axis, kind="float", dtype=np.int64, dtypes=True):
    x = numbers(*shape, kind=kind)
    at = np.asarray(indices, dtype=dtype)
    y = np.take(x, at, axis)
    r.case("gather", [x, at], [y], axis=axis, dtypes=dtypes)
    if kind == "bool":
        return
    total = np.zeros_like(x)
    moved = np.moveaxis(total, axis, 0)
    flat = y.reshape(shape[:axis] + (at.size,) + shape[axis + 1:])
    np.add.at(moved, at.reshape(-1), np.moveaxis(flat, axis, 0))
    r.case("scatter_add", [y, at], [total], axis=axis, shape=shape, dtypes=dtypes)


gather((7,), [3, 0, 6, 3], 0)
gather((7,), 2, 0)
gather((5, 37), [[1, 4, 1], [0, 1, 1]], 0, dtype=np.int32)
gather((4, 5, 3), [4, 0, 0, 2], 1)
gather((3, 41), [40, 0, 7, 7, 7], 1)
gather((3, 150), [2, 0, 2, 2, 1, 2], 0)
gather((4, 3), np.zeros((0,)), 0)
gather((4, 0), [1, 3], 0)
gather((5, 3), [1, 3, 3], 0, "int", dtypes=False)
gather((5, 3), [1, 3, 3], 0, "bool", dtypes=False)
x = r.integers(0, 100, 5, 3, dtype=np.uint8)
r.case("gather", [x, np.array([2, 2])], [x[[2, 2]]], axis=0, dtypes=False)


def one_hot(labels, classes, dtype):
    at = np.asarray(labels)
    y = (at[..., None] == np.arange(classes)).astype(np.float64)
    r.case("one_hot", [at], [y], classes=classes, dtype=DType(dtype))


one_hot([1, 0, 3, -1, 4, -100], 4, "f32")
one_hot([[1, 2], [0, 0]], 3, "f16")
one_hot(2, 5, "bf16")
one_hot([0, 1], 2, "i64")
one_hot([0, 1], 2, "bool")
one_hot(np.zeros((0, 2), np.int64), 3, "f32")
one_hot([0, 1], 0, "f32")
r.write()
