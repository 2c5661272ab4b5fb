"""Cases of the normalize family, from NumPy in float64."""

import numpy as np
from recorder import Recorder

r = Recorder("normalize")


def rows(shape, epsilon, offset=0.0, scale=1.0, bias=True, **options):
    x, dy = r.normal(*shape, scale=scale, offset=offset), r.normal(*shape)
    n = shape[-1]
    s, b = r.uniform(0.5, 1.5, n), r.normal(n)
    lead = tuple(range(len(shape) - 1))

    def gradient(normal, inverse, centered):
        g = dy * s
        mean = g.mean(-1, keepdims=True) if centered else 0
        return inverse * (g - mean - normal * (g * normal).mean(-1, keepdims=True))

    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    inverse = 1 / np.sqrt(variance + epsilon)
    normal = (x - mean) * inverse
    sums = [(dy * normal).sum(lead), dy.sum(lead)]
    both = dict(epsilon=epsilon, **options)
    r.case("layer_norm", [x, s, b] if bias else [x, s], [normal * s + (b if bias else 0)], **both)
    r.case("layer_norm_grad", [dy, x, s],
           [gradient(normal, inverse, True)] + (sums if bias else sums[:1]), bias=bias, **both)

    inverse = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)
    normal = x * inverse
    r.case("rms_norm", [x, s], [normal * s], **both)
    r.case("rms_norm_grad", [dy, x, s],
           [gradient(normal, inverse, False), (dy * normal).sum(lead)], bias=False, **both)


rows((3, 5), 1e-5)
rows((4, 37), 1e-3, offset=2.0, bias=False)
rows((8,), 1e-5)
rows((2, 3, 16), 1e-5, wide=[])
rows((5, 4), 1e-5, scale=1e-3, tolerance=4.0)
rows((1, 519), 1e-5)
rows((0, 5), 1e-5)
x, s, b = r.normal(3, 6), r.uniform(0.5, 1.5, 6), r.normal(6)
normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
r.case("layer_norm", [x, s, b], [normal * s + b], epsilon=1e-5, wide=[1, 2])
one = np.array([[3.0], [-2.0]])
r.case("layer_norm", [one, np.array([2.0]), np.array([0.5])], [np.full((2, 1), 0.5)], epsilon=1e-5)


def batch(shape, last, epsilon=1e-5, offset=0.0, wide=(), **options):
    x, dy = r.normal(*shape, offset=offset), r.normal(*shape)
    axis = len(shape) - 1 if last else 1
    over = tuple(i for i in range(len(shape)) if i != axis)
    around = [1] * len(shape)
    around[axis] = n = shape[axis]
    count = x.size // max(n, 1)
    s, b = r.uniform(0.5, 1.5, n), r.normal(n)

    def normalized(mean, variance):
        inverse = 1 / np.sqrt(variance + epsilon)
        return inverse, (x - mean.reshape(around)) * inverse.reshape(around)

    def total(values):
        return values.sum(over)

    both = dict(epsilon=epsilon, channels_last=last, **options)
    with np.errstate(all="ignore"):
        mean = total(x) / np.float64(count)
        variance = total((x - mean.reshape(around)) ** 2) / np.float64(count)
        inverse, normal = normalized(mean, variance)
        y = normal * s.reshape(around) + b.reshape(around)
        r.case("batch_norm", [x, s, b], [y, mean, variance], wide=wide, **both)
        if count == 0:
            mean, variance = np.zeros(n), np.ones(n)
            inverse, normal = normalized(mean, variance)
        factor = (s * inverse).reshape(around)
        dscale, dbias = total(dy * normal), total(dy)
        dx = factor * (dy - (dbias.reshape(around) + normal * dscale.reshape(around)) / max(count, 1))
        statistics = [3, 4]
        parameters = [2] if wide else []
        r.case("batch_norm_grad", [dy, x, s, mean, variance], [dx, dscale, dbias],
               wide=statistics + parameters, **both)

        mean, variance = r.normal(n), r.uniform(0.5, 2.0, n)
        inverse, normal = normalized(mean, variance)
        factor = (s * inverse).reshape(around)
        dscale = total(dy * normal)
        r.case("batch_norm_inference", [x, s, b, mean, variance],
               [normal * s.reshape(around) + b.reshape(around)], wide=statistics + list(wide), **both)
        r.case("batch_norm_inference_grad", [dy, x, s, mean, variance],
               [factor * dy, dscale, dbias, -total(dy) * s * inverse,
                -0.5 * dscale * s * inverse**2], wide=statistics + parameters, **both)


batch((4, 3, 5, 2), False)
batch((4, 5, 2, 3), True)
batch((6, 4), True)
batch((2, 2, 37, 3), False, offset=3.0)
batch((2, 2, 3, 37), True, epsilon=1e-3)
batch((1, 1, 33, 32), False, gradient=False)
batch((7, 3), False)
batch((4, 2, 3, 3), False, wide=[1, 2])
batch((4, 3, 3, 2), True, wide=[1, 2])
batch((0, 3, 2, 2), False)
batch((0, 3), True)
r.write()
