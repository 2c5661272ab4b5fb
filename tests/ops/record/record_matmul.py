"""Cases of the matmul family, from NumPy."""

import numpy as np
from recorder import Recorder

r = Recorder("matmul")


def matmul(a_shape, b_shape, ta, tb):
    a, b = r.normal(*a_shape), r.normal(*b_shape)
    left = np.swapaxes(a, -1, -2) if ta else a
    right = np.swapaxes(b, -1, -2) if tb else b
    r.case("matmul", [a, b], [left @ right], transpose_a=ta, transpose_b=tb)


for ta in (False, True):
    for tb in (False, True):
        a = (4, 3) if ta else (3, 4)
        b = (5, 4) if tb else (4, 5)
        matmul(a, b, ta, tb)
        matmul((2, 3) + a, (3,) + b, ta, tb)
        matmul((2, 1) + a, (1, 3) + b, ta, tb)
matmul((0, 4), (4, 5), False, False)
matmul((3, 0), (0, 5), False, False)
matmul((1, 1), (1, 1), False, False)
matmul((2, 3, 4), (4, 5), False, False)
matmul((2, 4, 3), (4, 5), True, False)
matmul((3, 4), (2, 4, 5), False, False)
matmul((0, 3, 4), (0, 4, 5), False, False)
matmul((33, 37), (41, 37), False, True)
matmul((37, 19), (37, 35), True, False)


def linear(x_shape, out, bias, transposed=False):
    x, weight = r.normal(*x_shape), r.normal(out, x_shape[-1])
    inputs, y = [x, weight.T.copy() if transposed else weight], x @ weight.T
    if bias:
        inputs.append(r.normal(out))
        y = y + inputs[2]
    r.case("linear", inputs, [y], **({"transposed": True} if transposed else {}))


for bias in (False, True):
    linear((3, 4), 5, bias)
    linear((4,), 3, bias)
    linear((2, 3, 7), 5, bias)
    linear((0, 4), 5, bias)
    linear((3, 0), 5, bias)
    linear((35, 37), 19, bias)
    linear((2, 3, 7), 5, bias, True)
    linear((35, 37), 19, bias, True)
    linear((3, 0), 5, bias, True)
linear((1, 1), 1, True)
r.write()
