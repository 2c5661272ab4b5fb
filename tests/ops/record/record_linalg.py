"""Cases of the linalg family, from PyTorch."""

import numpy as np
import torch
from recorder import Recorder

r = Recorder("linalg")


def solve(front, n, columns):
    a = r.normal(*front, n, n) + 2 * np.eye(n)
    b = r.normal(*front, n, columns)
    x = torch.linalg.solve(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    r.case("solve", [a, b], [x], tolerance=100.0)


def triangular(front, n, columns):
    for upper in (False, True):
        for transpose in (False, True):
            a = r.normal(*front, n, n) * 0.5 + 2 * np.eye(n)
            b = r.normal(*front, n, columns)
            side = np.triu(a) if upper else np.tril(a)
            if transpose:
                side = np.swapaxes(side, -1, -2)
            x = torch.linalg.solve_triangular(torch.from_numpy(np.ascontiguousarray(side)), torch.from_numpy(b),
                                              upper=upper != transpose).numpy()
            r.case("triangular_solve", [a, b], [x], upper=upper, transpose=transpose, tolerance=30.0)


def cholesky(front, n):
    m = r.normal(*front, n, n)
    a = m @ np.swapaxes(m, -1, -2) + 2 * np.eye(n)
    r.case("cholesky", [a], [torch.linalg.cholesky(torch.from_numpy(a)).numpy()], tolerance=30.0)


def svd(front, m, n, gradient=True):
    """Singular values that are well apart; of each column of u the largest is positive."""
    k = min(m, n)
    q, _ = np.linalg.qr(r.normal(*front, m, k))
    p, _ = np.linalg.qr(r.normal(*front, n, k))
    a = (q * (1.0 + np.arange(k))) @ np.swapaxes(p, -1, -2)
    u, s, vh = torch.linalg.svd(torch.from_numpy(a), full_matrices=False)
    largest = torch.gather(u, -2, u.abs().argmax(-2, keepdim=True)) if u.numel() else torch.ones(())
    u, vh = u * largest.sign(), vh * largest.sign().transpose(-1, -2) if u.numel() else vh
    r.case("svd", [a], [u.numpy(), s.numpy(), vh.numpy()], tolerance=100.0, gradient=gradient)


for front, n, columns in [((), 1, 1), ((), 4, 2), ((3,), 5, 1), ((2, 2), 3, 4), ((), 17, 3)]:
    solve(front, n, columns)
    triangular(front, n, columns)
    cholesky(front, n)
solve((0,), 3, 2)
solve((), 3, 0)
r.case("triangular_solve", [np.zeros((0, 3, 3)), np.zeros((0, 3, 2))], [np.zeros((0, 3, 2))], upper=False,
       transpose=False)
cholesky((0,), 3)
for front, m, n in [((), 1, 1), ((), 4, 4), ((), 5, 3), ((), 3, 5), ((2,), 4, 3), ((2, 2), 1, 3)]:
    svd(front, m, n)
svd((0,), 3, 2)
r.write()
