"""Cases of the softmax family, from NumPy in float64."""

import numpy as np
from recorder import Recorder

r = Recorder("softmax")
IGNORE = -100


def log_softmax(x, axis):
    shifted = x - x.max(axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def softmax(x, axis):
    return np.exp(log_softmax(x, axis))


def both(shape, axis, scale=1.0, offset=0.0, **options):
    x = r.normal(*shape, scale=scale, offset=offset)
    dy = r.normal(*shape)
    y, ly = softmax(x, axis), log_softmax(x, axis)
    r.case("softmax", [x], [y], axis=axis, **options)
    r.case("log_softmax", [x], [ly], axis=axis, **options)
    r.case("softmax_grad", [dy, y], [y * (dy - (dy * y).sum(axis, keepdims=True))], axis=axis)
    r.case("log_softmax_grad", [dy, ly], [dy - np.exp(ly) * dy.sum(axis, keepdims=True)], axis=axis)


both((7,), 0)
both((3, 5), 1)
both((3, 37), 1, scale=3.0)
both((1, 519), 1)
both((2, 5, 3), 1)
both((3, 2, 70), 0)
both((4, 1), 1)
both((2, 3, 4, 5), 2, scale=10.0)
both((0, 5), 1)
both((5, 0), 0)
x = np.array([[1e4, 1e4 - 1, -1e4], [-1e4, -1e4, -1e4]])
r.case("softmax", [x], [softmax(x, 1)], axis=1, dtypes=False, gradient=False)
r.case("log_softmax", [x], [log_softmax(x, 1)], axis=1, dtypes=False, gradient=False)
x = np.array([[0.5, -np.inf, 1.0], [-np.inf, -np.inf, 2.0]])
r.case("softmax", [x], [softmax(x, 1)], axis=1, gradient=False)


def labelled(shape, labels, smoothing, offset=0.0):
    x = r.normal(*shape, scale=2.0, offset=offset)
    labels = np.asarray(labels).reshape(shape[:-1])
    classes = shape[-1]
    counts = (labels != IGNORE)[..., None]
    target = ((labels[..., None] == np.arange(classes)) * (1 - smoothing) + smoothing / classes) * counts
    loss = -(target * log_softmax(x, -1)).sum(-1)
    dloss = r.normal(*shape[:-1])
    r.case("cross_entropy", [x, labels], [loss], smoothing=smoothing)
    dx = (softmax(x, -1) * counts - target) * dloss[..., None]
    r.case("cross_entropy_grad", [x, labels, dloss], [dx], smoothing=smoothing, wide=[2])


labelled((4, 5), [0, 4, 2, 2], 0.0)
labelled((4, 5), [0, IGNORE, 2, 4], 0.1)
labelled((3,), 1, 0.0)
labelled((3,), 2, 1.0)
labelled((2, 3, 37), r.integers(0, 37, 2, 3), 0.0, offset=5.0)
labelled((1, 515), [514], 0.2)
labelled((3, 19), r.integers(0, 19, 3, dtype=np.int32), 0.05)
labelled((2, 1), [0, 0], 0.3)
labelled((2, 4), [IGNORE, IGNORE], 0.0)
labelled((0, 4), np.zeros(0, np.int64), 0.0)


def dense(shape, mass=1.0):
    x = r.normal(*shape, scale=2.0)
    t = softmax(r.normal(*shape), -1) * mass
    loss = -(t * log_softmax(x, -1)).sum(-1)
    dloss = r.normal(*shape[:-1])
    dx = (softmax(x, -1) * t.sum(-1, keepdims=True) - t) * dloss[..., None]
    r.case("cross_entropy_dense", [x, t], [loss])
    r.case("cross_entropy_dense_grad", [x, t, dloss], [dx], wide=[2])


dense((4, 5))
dense((7,))
dense((2, 3, 37))
dense((1, 515))
dense((3, 4), mass=0.7)
dense((0, 4))
r.write()
