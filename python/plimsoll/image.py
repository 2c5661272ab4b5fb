"""Pictures in functions that map() traces: of a path the file is read and decoded.

>>> files.map(lambda path, label: (pm.image.resize(path, 224) / 255, label))
"""

from __future__ import annotations

from ._core._image import (  # type: ignore[import-not-found, unused-ignore]
    center_crop, crop, decode, decode_raw, flip_left_right, flip_up_down, normalize, random_crop,
    random_flip, read_file, resize, to_unit,
)

__all__ = [
    "center_crop", "crop", "decode", "decode_raw", "flip_left_right", "flip_up_down", "normalize",
    "random_crop", "random_flip", "read_file", "resize", "to_unit",
]
