"""Matrices: what is composed of ops, the library's decompositions, which have gradients, and others, which the
host computes."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

import plimsoll as pm
from plimsoll import _core

from ._convert import numpy_of, tensor
from ._dispatch import op, static_value
from ._errors import InvalidArgumentError, unsupported
from ._operators import FLOATS, matmul, pair
from ._state import state


def _turned(x: Any) -> Any:
    rank = len(x.shape)
    if rank < 2:
        raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2. Received: shape {tuple(x.shape)}")
    return pm.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


@op(name="linalg.matrix_transpose")
def matrix_transpose(a: Any, conjugate: bool = False) -> Any:
    return _turned(tensor(a))


adjoint = matrix_transpose


@op(name="linalg.matvec")
def matvec(a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False) -> Any:
    x, y = pair(a, b, "MatMul", numbers=False)
    found = matmul(x, pm.reshape(y, [*y.shape, 1]), transpose_a=transpose_a or adjoint_a)
    return pm.reshape(found, list(found.shape[:-1]))


def _diagonal(x: Any, k: int) -> Any:
    rows, columns = x.shape[-2:]
    count = max(min(rows + min(k, 0), columns - max(k, 0)), 0)
    if count == 0:
        raise InvalidArgumentError(None, None, f"there is no diagonal {k} in a matrix of {rows} by {columns}")
    places = (np.arange(count) + max(-k, 0)) * columns + np.arange(count) + max(k, 0)
    flat = pm.reshape(x, [*x.shape[:-2], rows * columns])
    return pm.gather(flat, pm.tensor(places.astype(np.int64)), axis=len(flat.shape) - 1)


@op(name="linalg.diag_part")
def diag_part(input: Any, k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    at = static_value(k)
    if not isinstance(at, int):
        unsupported("tf.linalg.diag_part", "k with several diagonals", "one call for each")
    return _diagonal(tensor(input), at)


@op(name="linalg.diag")
def diag(diagonal: Any, k: Any = 0, num_rows: Any = -1, num_cols: Any = -1, padding_value: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    x, at = tensor(diagonal), int(static_value(k))
    if num_rows != -1 or num_cols != -1:
        unsupported("tf.linalg.diag", "num_rows, num_cols", "tf.pad the result")
    size = x.shape[-1] + abs(at)
    front = [0] * len(x.shape)
    front[-1] = max(at, 0)
    back = [0] * len(x.shape)
    back[-1] = max(-at, 0)
    row = pm.pad(x, front, back)
    wide = pm.broadcast_to(pm.reshape(row, [*row.shape[:-1], 1, size]), [*row.shape[:-1], size, size])
    mask = pm.tensor(np.eye(size, k=at, dtype=bool))
    return pm.where(mask, wide, tensor(padding_value, like=x))


@op(name="linalg.set_diag")
def set_diag(input: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    x = tensor(input)
    if static_value(k) != 0:
        unsupported("tf.linalg.set_diag", "k", "tf.where with a mask")
    rows, columns = x.shape[-2:]
    count = min(rows, columns)
    given = tensor(diagonal, like=x)
    front, back = [0] * len(given.shape), [0] * len(given.shape)
    back[-1] = columns - count
    wide = pm.pad(given, front, back)
    wide = pm.broadcast_to(pm.reshape(wide, [*wide.shape[:-1], 1, columns]), list(x.shape))
    return pm.where(pm.tensor(np.eye(rows, columns, dtype=bool)), wide, x)


@op(name="linalg.tensor_diag")
def tensor_diag(diagonal: Any) -> Any:
    x = tensor(diagonal)
    made = diag(pm.reshape(x, [-1]))
    return pm.reshape(made, [*x.shape, *x.shape])


@op(name="linalg.tensor_diag_part")
def tensor_diag_part(input: Any) -> Any:
    x = tensor(input)
    half = list(x.shape[: len(x.shape) // 2])
    count = int(np.prod(half))
    return pm.reshape(_diagonal(pm.reshape(x, [count, count]), 0), half)


@op(name="linalg.trace")
def trace(x: Any) -> Any:
    found = _diagonal(tensor(x), 0)
    return pm.cast(pm.sum(found, axis=-1), found.dtype)


@op(name="linalg.band_part")
def band_part(input: Any, num_lower: Any, num_upper: Any) -> Any:
    x, low, high = tensor(input), int(static_value(num_lower)), int(static_value(num_upper))
    rows, columns = x.shape[-2:]
    if low > rows or high > columns:
        raise InvalidArgumentError(None, None, f"num_lower must be at most {rows} and num_upper at most {columns}")
    distance = np.arange(rows)[:, None] - np.arange(columns)[None, :]
    kept = (distance <= (rows if low < 0 else low)) & (-distance <= (columns if high < 0 else high))
    return pm.where(pm.tensor(kept), x, 0 if x.dtype != pm.bool_ else tensor(False))


@op(name="linalg.cross")
def cross(a: Any, b: Any) -> Any:
    x, y = pair(a, b, "Cross", numbers=False)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise InvalidArgumentError(None, None, "Cross-products are only defined for 3-element vectors.")
    last = len(x.shape) - 1
    return pm.roll(x, 2, last) * pm.roll(y, 1, last) - pm.roll(x, 1, last) * pm.roll(y, 2, last)


@op(name="linalg.normalize")
def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None) -> Any:
    from ._convert import tensor as converted
    from ._reduce import norm

    x = converted(tensor)
    size = norm(x, ord, axis, True)
    return x / size, size


def _host(name: str, f: Callable[..., Any], results: int = 1) -> Callable[..., Any]:
    """A decomposition by NumPy, of values that are known and that no tape follows."""
    def call(*matrices: Any, **options: Any) -> Any:
        values = [tensor(each) for each in matrices]
        for each in values:
            if each.dtype not in FLOATS:
                raise InvalidArgumentError(None, None, f"tf.linalg.{name} takes floating values, not {each.dtype.name}")
        if state.tapes or _core._tracing():
            unsupported(f"tf.linalg.{name} in a function that is traced, or on a tape", way="compute it before, outside of the block")
        try:
            found = f(*(numpy_of(each) for each in values), **options)
        except np.linalg.LinAlgError as error:
            raise InvalidArgumentError(None, None, f"tf.linalg.{name}: {error}") from None
        kind = numpy_of(values[0]).dtype
        if results == 1:
            return pm.tensor(np.asarray(found, dtype=kind, order="C"))
        return tuple(pm.tensor(np.asarray(each, dtype=kind, order="C")) for each in found)

    call.__name__ = name
    return op(name=f"linalg.{name}")(call)


def _matrix(value: Any, name: str) -> Any:
    x = tensor(value)
    if x.dtype not in (pm.f32, pm.f64):
        raise InvalidArgumentError(None, None, f"tf.linalg.{name} takes float32 or float64, not {x.dtype.name}")
    if len(x.shape) < 2:
        raise ValueError(f"Shape must be at least rank 2 but is rank {len(x.shape)}: tf.linalg.{name}")
    return x


def _system(matrix: Any, rhs: Any, name: str) -> tuple[Any, Any]:
    """Both sides, with the same dimensions in front."""
    a = _matrix(matrix, name)
    b = tensor(rhs, like=a)
    front = np.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    return pm.broadcast_to(a, [*front, *a.shape[-2:]]), pm.broadcast_to(b, [*front, *b.shape[-2:]])


@op(name="linalg.solve")
def solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    a, b = _system(matrix, rhs, "solve")
    return pm.solve(_turned(a) if adjoint else a, b)


@op(name="linalg.triangular_solve")
def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False) -> Any:
    a, b = _system(matrix, rhs, "triangular_solve")
    return pm.triangular_solve(a, b, upper=not lower, transpose=adjoint)


@op(name="linalg.cholesky")
def cholesky(input: Any) -> Any:
    a = _matrix(input, "cholesky")
    # The lower triangle counts; gradients go to both.
    both = pm.tril(a) + _turned(pm.tril(a)) * pm.tensor(1.0 - np.eye(a.shape[-1])).to(a.dtype)
    return pm.cholesky(a + pm.stop_gradient(both - a))


@op(name="linalg.cholesky_solve")
def cholesky_solve(chol: Any, rhs: Any) -> Any:
    l, b = _system(chol, rhs, "cholesky_solve")
    return pm.triangular_solve(l, pm.triangular_solve(l, b), transpose=True)


@op(name="linalg.logdet")
def logdet(matrix: Any) -> Any:
    """Of matrices that are positive definite."""
    return pm.sum(pm.log(_diagonal(cholesky(matrix), 0)), axis=-1) * 2.0


@op(name="linalg.inv")
def inv(input: Any, adjoint: bool = False) -> Any:
    a = _matrix(input, "inv")
    if a.shape[-1] != a.shape[-2]:
        raise InvalidArgumentError(None, None, f"Input matrix must be square, got {a.shape[-2]} x {a.shape[-1]}")
    one = pm.broadcast_to(pm.tensor(np.eye(a.shape[-1])).to(a.dtype), list(a.shape))
    return pm.solve(_turned(a) if adjoint else a, one)


@op(name="linalg.pinv")
def pinv(a: Any, rcond: Any = None) -> Any:
    x = _matrix(a, "pinv")
    u, s, vh = pm.svd(x)
    eps = float(np.finfo(np.float32 if x.dtype == pm.f32 else np.float64).eps)
    share = 10.0 * max(x.shape[-2:]) * eps if rcond is None else float(static_value(rcond))
    counts = s > pm.max(s, axis=-1, keepdims=True) * share
    over = pm.where(counts, 1.0 / pm.where(counts, s, pm.ones_like(s)), pm.zeros_like(s))
    return pm.matmul(_turned(vh) * pm.reshape(over, [*s.shape[:-1], 1, s.shape[-1]]), _turned(u))


@op(name="linalg.lstsq")
def lstsq(matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True) -> Any:
    a, b = _system(matrix, rhs, "lstsq")
    rows, columns = a.shape[-2:]
    t = _turned(a)
    square = pm.matmul(t, a) if rows >= columns else pm.matmul(a, t)
    square = square + pm.tensor(np.eye(min(rows, columns)) * l2_regularizer).to(a.dtype)
    if rows >= columns:
        return pm.solve(square, pm.matmul(t, b))
    return pm.matmul(t, pm.solve(square, b))


def _svd(a: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    u, s, vt = np.linalg.svd(a, full_matrices=full_matrices)
    return s, u, np.swapaxes(vt, -1, -2)


det = _host("det", np.linalg.det)
slogdet = _host("slogdet", lambda a: tuple(np.linalg.slogdet(a)), 2)
qr = _host("qr", lambda a, full_matrices=False: np.linalg.qr(a, "complete" if full_matrices else "reduced"), 2)
eigh = _host("eigh", lambda a: np.linalg.eigh(a), 2)
eigvalsh = _host("eigvalsh", np.linalg.eigvalsh)
_svd_full = _host("svd", _svd, 3)


@op(name="linalg.svd")
def _svd_thin(tensor: Any) -> Any:
    u, s, vh = pm.svd(_matrix(tensor, "svd"))
    return s, u, _turned(vh)


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Singular values, and the vectors of both sides."""
    found = _svd_full(tensor, full_matrices=True) if full_matrices else _svd_thin(tensor)
    return found if compute_uv else found[0]


@op(name="linalg.matrix_rank")
def matrix_rank(a: Any, tol: Any = None) -> Any:
    return pm.tensor(np.asarray(np.linalg.matrix_rank(numpy_of(tensor(a)))).astype(np.int32))
