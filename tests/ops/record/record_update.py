"""Cases of ops that write and of fills, from NumPy; scalars in f32 as they are given."""

import numpy as np
from recorder import DType, Exact, Recorder

r = Recorder("update")
SHAPES = [(3, 37), (0, 4), ()]


def scalar(value):
    return float(np.float32(value))


for shape in SHAPES[:3]:
    value = r.normal(*shape)
    r.case("assign", [r.normal(*shape), value], [value])
    value = r.integers(0, 9, *shape)
    r.case("assign", [r.integers(0, 9, *shape), value], [value])

RATE = scalar(0.05)
for shape in SHAPES + [(1030,)]:
    p, g, v = r.normal(*shape), r.normal(*shape), r.normal(*shape)
    m, s = r.normal(*shape), r.uniform(0.1, 2, *shape)
    rate = Exact(RATE)
    for decay in (0.0, 0.1) if len(shape) != 1 else (0.1,):
        d = g + decay * p
        r.case("sgd_update", [p, g, rate], [p - RATE * d], weight_decay=decay)
        for nesterov in (False, True) if len(shape) != 1 else (True,):
            v1 = 0.9 * v + d
            step = d + 0.9 * v1 if nesterov else v1
            r.case("sgd_momentum_update", [p, v, g, rate], [p - RATE * step, v1], momentum=0.9,
                   nesterov=nesterov, weight_decay=decay)
        s1 = 0.8 * s + 0.2 * d * d
        step = RATE * d / np.sqrt(s1 + 1e-3)
        r.case("rmsprop_update", [p, s, g, rate], [p - step, s1], decay=0.8, epsilon=1e-3,
               weight_decay=decay)
        v1 = 0.7 * v + step
        r.case("rmsprop_momentum_update", [p, s, v, g, rate], [p - v1, s1, v1], decay=0.8,
               epsilon=1e-3, weight_decay=decay, momentum=0.7)
        for decoupled in (False, True):
            for step in (1.0, 7.0) if len(shape) != 1 else (2.0,):
                e = g if decoupled else d
                m1 = 0.8 * m + (1 - 0.8) * e
                s1 = 0.95 * s + (1 - 0.95) * e * e
                moved = RATE * m1 / (1 - 0.8**step) / (np.sqrt(s1 / (1 - 0.95**step)) + 1e-4)
                shrink = 1 - RATE * decay if decoupled else 1
                r.case("adam_update", [p, m, s, g, rate, Exact(step)],
                       [p * shrink - moved, m1, s1], beta1=0.8, beta2=0.95, epsilon=1e-4,
                       weight_decay=decay, decoupled=decoupled)

for count in (0, 1, 40):
    r.case("arange", [], [np.arange(count)], shape=[count], dtype=DType("i64"))
    r.case("arange", [], [np.arange(count).astype(np.float64)], shape=[count], dtype=DType("f64"))
r.write()
