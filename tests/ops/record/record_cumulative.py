"""Cases of the cumulative and sort families, from PyTorch."""

import numpy as np
import torch
from recorder import Recorder

r = Recorder("cumulative")


def flipped(x, axis, reverse):
    return torch.flip(x, [axis]) if reverse else x


def cumulative(name, function, values, axis, reverse=False, dtypes=True, gradient=True):
    x = torch.from_numpy(np.asarray(values))
    y = flipped(function(flipped(x, axis, reverse), axis), axis, reverse).to(x.dtype)
    r.case(name, [x.numpy()], [y.numpy()], axis=axis, reverse=reverse, dtypes=dtypes, gradient=gradient)
    if name == "cumprod" and gradient:
        x = x.clone().requires_grad_()
        y = flipped(torch.cumprod(flipped(x, axis, reverse), axis), axis, reverse)
        dy = torch.from_numpy(r.normal(*x.shape))
        y.backward(dy)
        r.case("cumprod_grad", [dy.numpy(), x.detach().numpy(), y.detach().numpy()], [x.grad.numpy()],
               axis=axis, reverse=reverse)


for name, function in (("cumsum", torch.cumsum), ("cumprod", torch.cumprod)):
    for shape, axis in [((7,), 0), ((1,), 0), ((3, 5), 1), ((3, 5), 0), ((2, 3, 70), 1), ((2, 4, 3), 2),
                        ((40, 2), 0)]:
        for reverse in (False, True):
            # Products of 40 numbers stay near 1.
            values = r.uniform(0.8, 1.2, *shape) if name == "cumprod" else r.normal(*shape)
            cumulative(name, function, values, axis, reverse)
    cumulative(name, function, r.normal(0, 3), 0)
    cumulative(name, function, r.normal(3, 0), 1)
    cumulative(name, function, r.integers(-3, 4, 2, 5), 1, dtypes=False, gradient=False)
zeros = r.normal(3, 6)
zeros[0, 2] = zeros[1, 1] = zeros[1, 4] = zeros[2, 0] = zeros[2, 5] = 0
cumulative("cumprod", torch.cumprod, zeros, 1)
r.case("cumprod_grad", [np.zeros((0, 3))] * 3, [np.zeros((0, 3))], axis=1, reverse=False)


def sort(values, descending=False, dtypes=True, gradient=True):
    x = torch.from_numpy(np.asarray(values))
    y, places = torch.sort(x, dim=-1, descending=descending, stable=True)
    r.case("sort", [x.numpy()], [y.numpy(), places.numpy()], descending=descending, dtypes=dtypes,
           gradient=gradient)


for shape in [(5,), (1,), (3, 4), (2, 3, 40), (2, 257), (4, 1)]:
    for descending in (False, True):
        # Few enough to be apart in 16 bits.
        sort(r.apart(*shape), descending, dtypes=int(np.prod(shape)) < 100)
sort(r.integers(0, 4, 3, 33).astype(np.float64), gradient=False)
sort(r.integers(0, 4, 3, 33).astype(np.float64), True, gradient=False)
sort(r.integers(0, 4, 2, 21), gradient=False)
sort(r.integers(-9, 4, 2, 21), True, gradient=False, dtypes=False)
sort(np.array([1.0, np.nan, -np.inf, 0.5, np.nan, np.inf]), gradient=False)
sort(np.array([1.0, np.nan, -np.inf, 0.5, np.nan, np.inf]), True, gradient=False)
sort(r.normal(0, 3))
sort(r.normal(3, 0))
r.write()
