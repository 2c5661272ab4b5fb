"""tf.ragged: rows of different lengths, as far as tutorials need them."""

from __future__ import annotations

from typing import Any

from ._convert import convert_to_tensor
from ._errors import unsupported
from ._names import absent
from ._ragged import RaggedTensor, from_rows
from ._ragged import ragged_constant as constant
from ._tensor import Tensor


def stack(values: Any, axis: int = 0, name: str | None = None) -> RaggedTensor:
    """Tensors as rows."""
    if axis != 0:
        unsupported("tf.ragged.stack", f"axis={axis}", "use axis=0")
    rows = [convert_to_tensor(each) for each in values]
    return from_rows(rows, rows[0].dtype)


def range(starts: Any, limits: Any = None, deltas: Any = 1, dtype: Any = None, name: str | None = None, row_splits_dtype: Any = None) -> RaggedTensor:  # noqa: A001
    """A row of numbers for each start and limit."""
    import numpy as np

    if limits is None:
        starts, limits = 0, starts
    first, last, step = np.broadcast_arrays(*(np.asarray(convert_to_tensor(x).numpy()) for x in (starts, limits, deltas)))
    rows = [np.arange(a, b, c) for a, b, c in zip(first.ravel(), last.ravel(), step.ravel())]
    return from_rows(rows, convert_to_tensor(rows[0] if dtype is None else rows[0].astype(dtype)).dtype)


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> RaggedTensor:
    """The elements of each row that a mask keeps."""
    rows, keeps = (convert_to_tensor(each).numpy() for each in (data, mask))
    return from_rows([row[keep] for row, keep in zip(rows, keeps)], convert_to_tensor(data).dtype)


def map_flat_values(op: Any, *args: Any, **kwargs: Any) -> Any:
    """`op` of all values."""
    first = next(each for each in args if isinstance(each, RaggedTensor))
    given = [each.flat_values if isinstance(each, RaggedTensor) else each for each in args]
    made: Tensor = op(*given, **kwargs)
    return first.with_values(made)


__all__ = ["boolean_mask", "constant", "map_flat_values", "range", "stack"]


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(name)
    absent(f"tf.ragged.{name}", "pad the rows with to_tensor(), and use tensors")
