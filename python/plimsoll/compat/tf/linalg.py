"""tf.linalg."""

from __future__ import annotations

from typing import Any

from . import _names
from ._create import eye
from ._linalg import (
    adjoint, band_part, cholesky, cholesky_solve, cross, det, diag, diag_part, eigh, eigvalsh, inv, logdet, lstsq,
    matrix_rank, matrix_transpose, matvec, normalize, pinv, qr, set_diag, slogdet, solve, svd, tensor_diag,
    tensor_diag_part, trace, triangular_solve,
)
from ._math import einsum, l2_normalize, tensordot
from ._operators import matmul
from ._reduce import global_norm, norm

__all__ = [
    "adjoint", "band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part", "eigh", "eigvalsh",
    "einsum", "eye", "global_norm", "inv", "l2_normalize", "logdet", "lstsq", "matmul", "matrix_rank",
    "matrix_transpose", "matvec", "norm", "normalize", "pinv", "qr", "set_diag", "slogdet", "solve",
    "svd", "tensor_diag", "tensor_diag_part", "tensordot", "trace", "triangular_solve",
]


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.linalg.{name}", __all__)
