"""tf.image: pictures, [height, width, channels] or batches of them."""

from __future__ import annotations

from ..io._pictures import (
    decode_bmp, decode_image, decode_jpeg, decode_png, encode_jpeg, encode_png, extract_jpeg_shape, is_jpeg,
)
from .._names import absent
from ._adjust import (
    adjust_brightness, adjust_contrast, adjust_gamma, adjust_hue, adjust_jpeg_quality, adjust_saturation,
    per_image_standardization, random_brightness, random_contrast, random_hue, random_jpeg_quality,
    random_saturation, stateless_random_brightness, stateless_random_contrast, stateless_random_hue,
    stateless_random_jpeg_quality, stateless_random_saturation,
)
from ._convert import (
    convert_image_dtype, grayscale_to_rgb, hsv_to_rgb, rgb_to_grayscale, rgb_to_hsv, rgb_to_yiq, rgb_to_yuv, yiq_to_rgb,
    yuv_to_rgb,
)
from ._geometry import (
    central_crop, crop_to_bounding_box, extract_patches, flip_left_right, flip_up_down, pad_to_bounding_box,
    random_crop, random_flip_left_right, random_flip_up_down, resize_with_crop_or_pad, rot90, stateless_random_crop,
    stateless_random_flip_left_right, stateless_random_flip_up_down, transpose,
)
from ._quality import (
    draw_bounding_boxes, image_gradients, non_max_suppression, psnr, sobel_edges, ssim, ssim_multiscale,
    total_variation,
)
from ._resize import ResizeMethod, crop_and_resize, resize, resize_with_pad

__all__ = [
    "ResizeMethod", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_jpeg_quality",
    "adjust_saturation", "central_crop", "convert_image_dtype", "crop_and_resize", "crop_to_bounding_box",
    "decode_bmp", "decode_image", "decode_jpeg", "decode_png", "draw_bounding_boxes", "encode_jpeg", "encode_png",
    "extract_jpeg_shape", "extract_patches", "flip_left_right", "flip_up_down", "grayscale_to_rgb", "hsv_to_rgb",
    "image_gradients", "is_jpeg", "non_max_suppression", "pad_to_bounding_box", "per_image_standardization", "psnr",
    "random_brightness", "random_contrast", "random_crop", "random_flip_left_right", "random_flip_up_down",
    "random_hue", "random_jpeg_quality", "random_saturation", "resize", "resize_with_crop_or_pad", "resize_with_pad",
    "rgb_to_grayscale", "rgb_to_hsv", "rgb_to_yiq", "rgb_to_yuv", "rot90", "sobel_edges", "ssim", "ssim_multiscale",
    "stateless_random_brightness", "stateless_random_contrast", "stateless_random_crop",
    "stateless_random_flip_left_right", "stateless_random_flip_up_down", "stateless_random_hue",
    "stateless_random_jpeg_quality", "stateless_random_saturation", "total_variation", "transpose", "yiq_to_rgb",
    "yuv_to_rgb",
]


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(name)
    absent(f"tf.image.{name}", "tf.image has resize, crops, flips, adjust_*, random_*, and conversions")
