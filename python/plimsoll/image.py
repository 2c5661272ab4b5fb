"""Pictures in functions that map() traces: of a path the file is read and decoded.

>>> files.map(lambda path, label: (pm.image.resize(path, 224) / 255, label))
>>> files.map(lambda image, label: (pm.image.random_brightness(pm.image.resize(image, 224), 0.4), label))
"""

from __future__ import annotations

from ._core._image import (
    adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation, adjust_sharpness, affine,
    augment, autocontrast, center_crop, color_jitter, crop, cutmix, decode, decode_raw, equalize,
    erase, flip_left_right, flip_up_down, gaussian_blur, grayscale, invert, mixup, normalize,
    posterize, rand_augment, random_affine, random_blur, random_brightness, random_contrast,
    random_crop, random_cutmix, random_erase, random_flip, random_grayscale, random_hue,
    random_mixup, random_posterize, random_resized_crop, random_rotate, random_saturation,
    random_solarize, read_file, resize, rotate, solarize, tf_adjust_brightness, tf_adjust_contrast,
    tf_adjust_saturation, to_unit,
)

__all__ = [
    "adjust_brightness", "adjust_contrast", "adjust_hue", "adjust_saturation", "adjust_sharpness",
    "affine", "augment", "autocontrast", "center_crop", "color_jitter", "crop", "cutmix", "decode",
    "decode_raw", "equalize", "erase", "flip_left_right", "flip_up_down", "gaussian_blur",
    "grayscale", "invert", "mixup", "normalize", "posterize", "rand_augment", "random_affine",
    "random_blur", "random_brightness", "random_contrast", "random_crop", "random_cutmix",
    "random_erase", "random_flip", "random_grayscale", "random_hue", "random_mixup",
    "random_posterize", "random_resized_crop", "random_rotate", "random_saturation",
    "random_solarize", "read_file", "resize", "rotate", "solarize", "tf_adjust_brightness",
    "tf_adjust_contrast", "tf_adjust_saturation", "to_unit",
]
