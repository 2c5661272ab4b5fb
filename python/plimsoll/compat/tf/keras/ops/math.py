"""keras.ops of mathematics and of matrices."""

from __future__ import annotations

from typing import Any

from ... import _gather, _linalg, _math, _reduce, _special
from ._types import cast, floating, pair, tensor


def erf(x: Any) -> Any:
    return _math.erf(floating(x))


def erfinv(x: Any) -> Any:
    return _special.erfinv(floating(x))


def rsqrt(x: Any) -> Any:
    return _math.rsqrt(floating(x))


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce.reduce_logsumexp(floating(x), axis, keepdims)


def logaddexp(x1: Any, x2: Any) -> Any:
    a, b = pair(x1, x2)
    a, b = floating(a), floating(b)
    return _math.softplus(b - a) + a


def top_k(x: Any, k: int, sorted: bool = True) -> Any:
    return _math.top_k(tensor(x), k, sorted)


def in_top_k(targets: Any, predictions: Any, k: int) -> Any:
    return _math.in_top_k(cast(targets, "int32"), tensor(predictions), k)


def _segments(segment_ids: Any, num_segments: int | None) -> tuple[Any, int]:
    ids = cast(segment_ids, "int32")
    return ids, int(_reduce.reduce_max(ids)) + 1 if num_segments is None else num_segments


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:
    return _gather.unsorted_segment_sum(tensor(data), *_segments(segment_ids, num_segments))


def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:
    return _gather.unsorted_segment_max(tensor(data), *_segments(segment_ids, num_segments))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce.norm(floating(x), "euclidean" if ord is None else ord, axis, keepdims)


def cholesky(x: Any, upper: bool = False) -> Any:
    found = _linalg.cholesky(floating(x))
    return _linalg.matrix_transpose(found) if upper else found


def det(x: Any) -> Any:
    return _linalg.det(floating(x))


def inv(x: Any) -> Any:
    return _linalg.inv(floating(x))


def qr(x: Any, mode: str = "reduced") -> Any:
    return tuple(_linalg.qr(floating(x), full_matrices=mode == "complete"))


def eigh(x: Any) -> Any:
    return tuple(_linalg.eigh(floating(x)))


def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    found = _linalg.svd(floating(x), full_matrices=full_matrices, compute_uv=compute_uv)
    if not compute_uv:
        return found
    s, u, v = found
    return u, s, _linalg.matrix_transpose(v)


def solve(a: Any, b: Any) -> Any:
    from ._shapes import expand_dims, squeeze

    left, right = pair(floating(a), floating(b))
    if right.shape.rank == left.shape.rank - 1:
        return squeeze(_linalg.solve(left, expand_dims(right, -1)), -1)
    return _linalg.solve(left, right)


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Any:
    return _linalg.triangular_solve(*pair(floating(a), floating(b)), lower=lower)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    return _linalg.lstsq(*pair(floating(a), floating(b)))
