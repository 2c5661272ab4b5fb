"""Ops of tf's top level that few scripts use."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from . import _arrays
from ._convert import convert_to_tensor
from ._gather import gather
from ._math import cast
from ._operators import less
from ._tensor import Tensor


def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: int | None = None, batch_axis: int | None = None, name: str | None = None
) -> Any:
    """The first seq_lengths[i] steps of row i in reverse order."""
    x, at, rows = convert_to_tensor(input), int(seq_axis or 0), int(batch_axis or 0)
    if (rows, at) != (0, 1):
        raise NotImplementedError("tf.reverse_sequence with other axes than batch_axis=0 and seq_axis=1 is not supported; "
                                  "transpose first")
    steps = _arrays.shape(x)[1]
    lengths = _arrays.reshape(cast(seq_lengths, "int32"), [-1, 1])
    from ._create import range as numbers

    place = _arrays.expand_dims(numbers(steps), 0)
    order = _arrays.where(less(place, lengths), lengths - 1 - place, place + lengths * 0)
    return gather(x, order, batch_dims=1)


def histogram_fixed_width(values: Any, value_range: Any, nbins: int = 100, dtype: Any = "int32", name: str | None = None) -> Tensor:
    """How many values each of nbins equal bins has; what is outside counts in the first or the last."""
    low, high = (float(each) for each in value_range)
    found = np.asarray(convert_to_tensor(values).numpy()).ravel()
    bins = np.clip(np.floor((found - low) / (high - low) * nbins), 0, nbins - 1).astype(np.int64)
    return convert_to_tensor(np.bincount(bins, minlength=nbins), dtype)


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """Indices into a flat tensor as indices by dimension."""
    given = np.asarray(convert_to_tensor(indices).numpy())
    found = np.unravel_index(given, tuple(int(each) for each in np.asarray(convert_to_tensor(dims).numpy())))
    return convert_to_tensor(np.stack(found).astype(given.dtype))


def timestamp(name: str | None = None) -> Tensor:
    return convert_to_tensor(time.time(), "float64")


def tuple(tensors: Any, control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """The tensors themselves: ops run in order."""
    return [None if each is None else convert_to_tensor(each) for each in tensors]


__all__ = ["histogram_fixed_width", "reverse_sequence", "timestamp", "tuple", "unravel_index"]
