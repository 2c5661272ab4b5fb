"""Pictures in files: decoding and encoding."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

import plimsoll as pm

from .. import _program
from .._dispatch import op, static_value
from .._dtypes import as_dtype, float32, uint8, uint16
from .._errors import InvalidArgumentError, unsupported

_SIGNATURES = ((b"\xff\xd8\xff", "jpeg"), (b"\x89PNG", "png"), (b"BM", "bmp"), (b"GIF8", "gif"))


def _contents(value: Any) -> bytes:
    data = value.item() if isinstance(value, np.ndarray) else value
    if not isinstance(data, bytes):
        raise ValueError(f"contents must be a scalar string, not {value!r}")
    return data


def _kind(data: bytes) -> str | None:
    return next((kind for start, kind in _SIGNATURES if data.startswith(start)), None)


def _decode(contents: Any, channels: int, who: str, dct: str = "fast") -> Any:
    if channels not in (0, 1, 3, 4):
        raise InvalidArgumentError(None, None, f"channels must be 0, 1, 3 or 4, got {channels}")
    attributes: dict[str, Any] = {"channels": channels, "dct": dct, "apply_orientation": False}
    if isinstance(contents, _program.Symbolic):
        return _program.record("decode_image", [contents], **attributes)[0]
    data = _contents(contents)
    kind = _kind(data)
    if kind == "bmp":
        return _bmp(data, channels)
    if kind == "gif":
        unsupported(f"tf.{who} of a GIF", way="convert it to PNG")
    if kind is None:
        raise InvalidArgumentError(None, None, "Unknown image file format. One of JPEG, PNG, GIF, BMP required.")
    try:
        return _program.run("decode_image", [data], **attributes)
    except pm.DataError as error:
        raise InvalidArgumentError(None, None, str(error)) from None


@op(name="io.decode_jpeg")
def decode_jpeg(
    contents: Any, channels: Any = 0, ratio: int = 1, fancy_upscaling: bool = True, try_recover_truncated: bool = False,
    acceptable_fraction: float = 1, dct_method: str = "",
) -> Any:
    """A JPEG (or PNG) file as uint8 [height, width, channels]."""
    if ratio != 1:
        unsupported("tf.io.decode_jpeg", f"ratio={ratio}", "use tf.image.resize, which decodes no more than it needs")
    if not fancy_upscaling or try_recover_truncated or acceptable_fraction != 1:
        unsupported("tf.io.decode_jpeg", "fancy_upscaling, try_recover_truncated, acceptable_fraction", "leave them out")
    if dct_method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise InvalidArgumentError(None, None, "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}")
    return _decode(
        contents, int(static_value(channels)), "io.decode_jpeg", "accurate" if dct_method == "INTEGER_ACCURATE" else "fast"
    )


@op(name="io.decode_png")
def decode_png(contents: Any, channels: Any = 0, dtype: Any = uint8) -> Any:
    """A PNG (or JPEG) file as uint8 [height, width, channels]."""
    if as_dtype(dtype) == uint16:
        unsupported("tf.io.decode_png", "dtype=tf.uint16", "decode as uint8")
    return _decode(contents, int(static_value(channels)), "io.decode_png")


@op(name="io.decode_image")
def decode_image(contents: Any, channels: Any = None, dtype: Any = uint8, expand_animations: bool = True) -> Any:
    """A JPEG, PNG or BMP file as a picture of `dtype`; floats are from 0 to 1."""
    wanted = as_dtype(dtype)
    if wanted not in (uint8, float32):
        unsupported("tf.io.decode_image", f"dtype={wanted.name}", "decode as uint8, and use tf.image.convert_image_dtype")
    made = _decode(contents, int(static_value(channels) or 0), "io.decode_image")
    if wanted == uint8:
        return made
    return made.to(pm.f32) * np.float32(1 / 255).item()


@op(name="io.decode_bmp")
def decode_bmp(contents: Any, channels: Any = 0) -> Any:
    """A BMP file as uint8 [height, width, channels]."""
    if isinstance(contents, _program.Symbolic):
        raise TypeError("BMP files have no instruction")
    return _bmp(_contents(contents), int(static_value(channels)))


def _bmp(data: bytes, channels: int) -> Any:
    begin, size = struct.unpack_from("<I", data, 10)[0], struct.unpack_from("<i", data, 14)[0]
    width, height = struct.unpack_from("<ii", data, 18)
    bits = struct.unpack_from("<H", data, 28)[0]
    if size < 40 or bits not in (8, 24, 32):
        raise InvalidArgumentError(None, None, f"BMP files of {bits} bits are not supported")
    count = bits // 8
    if channels not in (0, count):
        raise InvalidArgumentError(None, None, f"channels attribute {channels} does not match bits per pixel from file {count}")
    stride = (width * count + 3) // 4 * 4
    rows = np.frombuffer(data, np.uint8, stride * abs(height), begin).reshape(abs(height), stride)
    pixels = rows[:, : width * count].reshape(abs(height), width, count)
    if height > 0:
        pixels = pixels[::-1]
    if count > 1:
        pixels = pixels[..., [2, 1, 0, 3][:count]]
    return pm.tensor(np.ascontiguousarray(pixels))


@op(name="io.is_jpeg")
def is_jpeg(contents: Any) -> Any:
    return pm.tensor(np.asarray(_kind(_contents(contents)) == "jpeg"))


@op(name="io.extract_jpeg_shape")
def extract_jpeg_shape(contents: Any, output_type: Any = "int32") -> Any:
    """[height, width, channels] of a JPEG file."""
    picture = _decode(contents, 0, "io.extract_jpeg_shape")
    return pm.tensor(np.asarray(picture.shape, dtype=as_dtype(output_type).as_numpy_dtype))


def _string(data: bytes) -> Any:
    made = np.empty((), dtype=object)
    made[()] = data
    return made


@op(name="io.encode_jpeg")
def encode_jpeg(
    image: Any, format: str = "", quality: Any = 95, progressive: bool = False, optimize_size: bool = False,
    chroma_downsampling: bool = True, density_unit: str = "in", x_density: int = 300, y_density: int = 300,
    xmp_metadata: str = "",
) -> Any:
    """A uint8 picture as a JPEG file."""
    if xmp_metadata:
        unsupported("tf.io.encode_jpeg", "xmp_metadata", "leave it out")
    made = _program.run(
        "encode_jpeg", [_picture(image)], quality=int(static_value(quality)), progressive=bool(progressive),
        optimize_size=bool(optimize_size), chroma_downsampling=bool(chroma_downsampling),
    )
    return _string(made.item()) if isinstance(made, pm.Tensor) else made


def _picture(image: Any) -> Any:
    if not isinstance(image, (pm.Tensor, _program.Symbolic)):
        image = pm.tensor(np.asarray(image, np.uint8))
    if image.dtype != pm.u8:
        raise InvalidArgumentError(None, None, "pictures are encoded of uint8; use tf.image.convert_image_dtype(image, tf.uint8)")
    return image


@op(name="io.encode_png")
def encode_png(image: Any, compression: int = -1) -> Any:
    """A uint8 picture as a PNG file."""
    picture = _picture(image)
    if isinstance(picture, _program.Symbolic):
        raise TypeError("PNG files have no instruction")
    pixels = picture.numpy()
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 2, 3, 4):
        raise InvalidArgumentError(None, None, f"image must be 3-dimensional with 1 to 4 channels, not {pixels.shape}")
    height, width, channels = pixels.shape
    rows = np.zeros((height, width * channels + 1), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    level = compression if 0 <= compression <= 9 else -1
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), level)), (b"IEND", b""))
    chunks = [
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    ]
    return _string(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
