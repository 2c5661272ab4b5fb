"""Tables: CsvDataset, make_csv_dataset."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

from .._dtypes import DType, as_dtype, float32, int32, string
from .._errors import unsupported
from ..io._parsing import decode_csv
from ._dataset import AUTOTUNE, Dataset
from ._sources import TextLineDataset, names_of


class CsvDataset(Dataset):
    """A tuple of columns for each line."""

    def __init__(
        self, filenames: Any, record_defaults: Any, compression_type: Any = None, buffer_size: Any = None,
        header: bool = False, field_delim: str = ",", use_quote_delim: bool = True, na_value: str = "",
        select_cols: Any = None, exclude_cols: Any = None,
    ) -> None:
        if exclude_cols is not None:
            unsupported("tf.data.experimental.CsvDataset", "exclude_cols", "use select_cols")
        lines = lines_of(names_of(filenames), header, compression_type)
        made = lines.map(
            lambda line: tuple(decode_csv(line, record_defaults, field_delim, use_quote_delim, na_value, select_cols)),
            num_parallel_calls=AUTOTUNE,
        )
        super().__init__(made._pm, made._structure)


def lines_of(names: list[str], header: bool, compression: Any = None) -> Dataset:
    if not header:
        return TextLineDataset(names, compression)
    parts = [TextLineDataset(name, compression).skip(1) for name in names]
    made = parts[0]
    for each in parts[1:]:
        made = made.concatenate(each)
    return made


def make_csv_dataset(
    file_pattern: Any, batch_size: int, column_names: Any = None, column_defaults: Any = None, label_name: Any = None,
    select_columns: Any = None, field_delim: str = ",", use_quote_delim: bool = True, na_value: str = "",
    header: bool = True, num_epochs: Any = None, shuffle: bool = True, shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None, prefetch_buffer_size: Any = None, num_parallel_reads: Any = None, sloppy: bool = False,
    num_rows_for_inference: int = 100, compression_type: Any = None, ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Batches of {column: values}, or ({...}, label)."""
    import glob

    patterns = file_pattern if isinstance(file_pattern, (list, tuple)) else [file_pattern]
    files = sorted(each for one in patterns for each in glob.glob(str(one)))
    if not files:
        raise ValueError(f"No files match {file_pattern}.")
    with open(files[0], encoding=encoding, newline="") as opened:
        rows = csv.reader(opened, delimiter=field_delim)
        first = next(rows) if header else None
        sample = [row for _, row in zip(range(num_rows_for_inference), rows)]
    names = list(column_names) if column_names is not None else first
    if names is None:
        raise ValueError("Cannot infer column names: give column_names, or a header.")
    chosen = list(range(len(names))) if select_columns is None else sorted(
        names.index(each) if isinstance(each, str) else int(each) for each in select_columns
    )
    if column_defaults is None:
        defaults = [_inferred([row[i] for row in sample], na_value) for i in chosen]
    else:
        defaults = list(column_defaults)
    kept = [names[i] for i in chosen]
    if label_name is not None and label_name not in kept:
        raise ValueError(f"`label_name` {label_name!r} provided must be one of the columns: {kept}")

    def parse(line: Any) -> Any:
        values = decode_csv(line, defaults, field_delim, use_quote_delim, na_value, chosen)
        features = dict(zip(kept, values))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    dataset = lines_of(files, header, compression_type)
    if ignore_errors:
        dataset = dataset.ignore_errors()
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    dataset = dataset.repeat(num_epochs).batch(batch_size, drop_remainder=num_epochs is None)
    return dataset.map(parse, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _inferred(values: list[str], na_value: str) -> Any:
    """What a column has, with what stands for a missing value."""
    kind: DType = int32
    for each in values:
        if each in ("", na_value):
            continue
        try:
            number = int(each)
            if abs(number) >= 1 << 31 and kind == int32:
                kind = as_dtype("int64")
        except ValueError:
            try:
                float(each)
                kind = float32 if kind != string else kind
            except ValueError:
                return [""]
    return np.zeros(1, kind.as_numpy_dtype)


__all__ = ["CsvDataset", "make_csv_dataset"]
