"""Indexing as PyTorch does it, for tests/math/index_test.cpp."""

import torch
from torch_cases import Cases

cases = Cases("index", 41)
X = cases.normal(4, 5, 6)
I = torch.tensor([[3, 0, -1], [1, 1, -4]])
J = torch.tensor([2, -5, 0])
MASK = cases.ints(2, 4, 5).bool()
ROWS = torch.tensor([True, False, False, True])
NONE = torch.zeros(4, dtype=torch.bool)

for name, function, inputs in [
        ("plain", lambda x: x[:, 0, ::2], [X]),
        ("rest", lambda x: x[..., -1], [X]),
        ("axes", lambda x: x[1, None, 1:-1, ..., None], [X]),
        ("cut", lambda x: x[-100:100, 3:2, -2:], [X]),
        ("backwards", lambda x: torch.flip(x, [1])[:, ::2, 1:4], [X]),
        ("tensor", lambda x, i: x[:, i], [X, I]),
        ("pair", lambda x, i, j: x[i, j], [X, I, J]),
        ("apart", lambda x, i, j: x[i, :, j], [X, I, J]),
        ("after_integer", lambda x, j: x[1, :, j], [X, J]),
        ("with_range", lambda x, i, j: x[i, j, 1::3], [X, I, J]),
        ("mask", lambda x, m: x[m], [X, MASK]),
        ("rows", lambda x, m: x[m, 1:3], [X, ROWS]),
        ("none", lambda x, m: x[m], [X, NONE]),
        ("mask_and_tensor", lambda x, m: x[m, torch.tensor([1, 4])], [X, ROWS]),
        ("along", lambda x, i: torch.gather(x, 1, i), [X, cases.ints(5, 4, 3, 6)]),
        ("along_last", lambda x, i: torch.gather(x, 2, i), [X, cases.ints(6, 4, 5, 9)]),
        ("nd", lambda x, i: x[i[..., 0], i[..., 1]], [X, cases.ints(4, 3, 2, 2)]),
        ("scatter", lambda u, i: torch.zeros(4, 5, 6).double().index_put((i[..., 0], i[..., 1]), u, accumulate=True),
         [cases.normal(3, 2, 6), cases.ints(4, 3, 2, 2)]),
]:
    cases.add(name, function, [x.clone() for x in inputs])
values = torch.tensor([3.0, 1.0, 2.0, 1.0, 3.0, 3.0, -0.5]).reshape(7, 1)
found, inverse, counts = torch.unique(values, return_inverse=True, return_counts=True)
for key, tensor in (("x", values), ("values", found), ("inverse", inverse), ("counts", counts)):
    cases.put(f"unique.{key}", tensor)
cases.save()
