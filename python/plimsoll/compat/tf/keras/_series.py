"""Windows of time series."""

from __future__ import annotations

from typing import Any

import numpy as np


def timeseries_dataset_from_array(
    data: Any, targets: Any, sequence_length: int, sequence_stride: int = 1, sampling_rate: int = 1,
    batch_size: int | None = 128, shuffle: bool = False, seed: int | None = None,
    start_index: int | None = None, end_index: int | None = None,
) -> Any:
    """Windows of a series, with the target at each window's start. Only the series is in memory, not all windows."""
    from .._dtypes import as_dtype
    from .._function import numpy_function
    from ..data import Dataset

    values = np.asarray(data)
    begin = start_index or 0
    end = len(values) if end_index is None else end_index
    last = end - begin - (sequence_length - 1) * sampling_rate
    wanted = None if targets is None else np.asarray(targets)
    if wanted is not None:
        last = min(last, len(wanted))
    starts = np.arange(0, last, sequence_stride)
    if len(starts) == 0:
        raise ValueError(f"sequence_length={sequence_length} with sampling_rate={sampling_rate} does not fit into the "
                         f"{end - begin} steps of data; lower sequence_length")
    if shuffle:
        np.random.RandomState(1337 if seed is None else seed).shuffle(starts)
    steps = np.arange(sequence_length) * sampling_rate
    kind = as_dtype(values.dtype)

    def window(at: Any) -> Any:
        found = numpy_function(lambda i: values[begin + i[..., None] + steps], [at], kind)
        found.set_shape([*at.shape, sequence_length, *values.shape[1:]])
        return found

    made = Dataset.from_tensor_slices(starts if wanted is None else (starts, wanted[starts + begin]))
    if batch_size is not None:
        made = made.batch(batch_size)
    made = made.map(window) if wanted is None else made.map(lambda at, target: (window(at), target))
    return made.prefetch(2) if batch_size is not None else made
