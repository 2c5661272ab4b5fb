"""Pictures in functions that map() traces: of a path the file is read and decoded.

>>> files.map(lambda path, label: (pm.image.resize(path, 224) / 255, label))
>>> files.map(lambda image, label: (pm.image.random_brightness(pm.image.resize(image, 224), 0.4), label))
"""

from __future__ import annotations

from ._core._image import (
    adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation, affine, center_crop, crop,
    decode, decode_raw, erase, flip_left_right, flip_up_down, gaussian_blur, grayscale, invert,
    normalize, posterize, random_blur, random_brightness, random_contrast, random_crop,
    random_erase, random_flip, random_grayscale, random_hue, random_rotate, random_saturation,
    random_solarize, read_file, resize, rotate, solarize, to_unit,
)

__all__ = [
    "adjust_brightness", "adjust_contrast", "adjust_hue", "adjust_saturation", "affine",
    "center_crop", "crop", "decode", "decode_raw", "erase", "flip_left_right", "flip_up_down",
    "gaussian_blur", "grayscale", "invert", "normalize", "posterize", "random_blur",
    "random_brightness", "random_contrast", "random_crop", "random_erase", "random_flip",
    "random_grayscale", "random_hue", "random_rotate", "random_saturation", "random_solarize",
    "read_file", "resize", "rotate", "solarize", "to_unit",
]
