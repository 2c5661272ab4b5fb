"""cache() without a file name: in memory where it surely fits, else in a folder that goes with the process."""

from __future__ import annotations

import logging
import math
import shutil
import tempfile
import weakref

import plimsoll as pm

from .._config import current_device

_SHARE = 3  # of the memory that is free, a cache may take one part
_SIZES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2}
_TEXT = 256  # bytes of a string, as a guess


def cached(dataset: pm.data.Dataset) -> pm.data.Dataset:
    """The elements of the first epoch, kept."""
    needed = _bytes(dataset)
    if needed is not None and needed <= current_device().budget.available // _SHARE:
        return dataset.cache()
    folder = tempfile.mkdtemp(prefix="plimsoll-cache-")
    try:
        made = dataset.cache(folder)
    except pm.InvalidArgument:  # a pipeline that cannot be kept on disk, or never ends
        shutil.rmtree(folder, ignore_errors=True)
        return dataset.cache()
    weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
    size = "of unknown size" if needed is None else f"of {pm.format_bytes(needed)}"
    logging.getLogger("plimsoll").info("cache(): %s, so kept in %s", size, folder)
    return made


def _bytes(dataset: pm.data.Dataset) -> int | None:
    """How much a whole epoch is, if that is known."""
    count, size = dataset.cardinality, element_bytes(dataset)
    return None if count is None or count < 0 or size is None else count * size


def element_bytes(dataset: pm.data.Dataset) -> int | None:
    """How much an element is at most, if that is known."""
    spec = dataset.element_spec
    if spec is None:
        return None
    total = 0
    for dtype, shape in spec:
        if shape is None or any(each is None for each in shape):
            return None
        size = _TEXT if dtype == pm.bytes_ else _SIZES.get(dtype.name, 1)
        total += size * math.prod(each for each in shape if each is not None)
    return total
