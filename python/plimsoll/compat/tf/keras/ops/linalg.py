"""keras.ops.linalg."""

from .math import (
    cholesky as cholesky, det as det, eigh as eigh, inv as inv, lstsq as lstsq, norm as norm, qr as qr, solve as solve,
    solve_triangular as solve_triangular, svd as svd,
)
