#!/usr/bin/env python3
"""Records what TensorFlow makes of small pictures, for tests/data/image_*_test.cpp.

Writes recorded/images/* (the pictures), recorded/images.json (the cases) and recorded/images.bin
(the expected tensors, one after the other). Run in an environment of its own:

    python3 -m venv .venv-tf && .venv-tf/bin/pip install tensorflow-cpu pillow simplejpeg
    .venv-tf/bin/python tests/data/record/record_images.py
"""
import io
import json
import os
import pathlib
import struct
import zlib

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import simplejpeg
import tensorflow as tf
from PIL import Image

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "recorded"


class Recorder:
    def __init__(self):
        self.blob = bytearray()
        self.cases = []
        self.seen = {}

    def tensor(self, value):
        content = np.ascontiguousarray(value).tobytes()
        if content not in self.seen:
            self.seen[content] = len(self.blob)
            self.blob += content
        return {"offset": self.seen[content], "dtype": value.dtype.name,
                "shape": list(value.shape)}

    def add(self, **case):
        self.cases.append({k: self.tensor(v) if isinstance(v, np.ndarray) else v
                           for k, v in case.items()})


def picture(width, height, seed, saturated=False):
    """Colour gradients, hard edges and noise; saturated ones reach outside RGB after JPEG."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = [127 + 120 * np.sin(x / (5 + c) + y / (9 - c) + random.uniform(0, 6)) for c in range(3)]
    image = np.stack(planes, -1)
    if saturated:
        image = np.where(image > 127, 255, 0).astype(np.float64)
    else:
        image += random.normal(0, 10, image.shape)
    image[height // 3:height // 2, width // 4:width // 2] = (255, 20, 0)
    return np.clip(image, 0, 255).astype(np.uint8)


def pil_jpeg(image, mode=None, **options):
    out = io.BytesIO()
    Image.fromarray(image, mode).save(out, "JPEG", **options)
    return out.getvalue()


def jpegs():
    for name in ("444", "422", "420", "440", "411"):
        yield name, simplejpeg.encode_jpeg(picture(52, 39, 1), 90, "RGB", name)
    yield "420_saturated", simplejpeg.encode_jpeg(picture(45, 33, 2, True), 60, "RGB", "420")
    yield "422_saturated", simplejpeg.encode_jpeg(picture(45, 33, 2, True), 60, "RGB", "422")
    yield "420_16x16", simplejpeg.encode_jpeg(picture(16, 16, 3), 80, "RGB", "420")
    yield "420_1x1", simplejpeg.encode_jpeg(picture(1, 1, 4), 90, "RGB", "420")
    yield "420_3x2", simplejpeg.encode_jpeg(picture(3, 2, 5), 90, "RGB", "420")
    yield "420_5x17", simplejpeg.encode_jpeg(picture(5, 17, 5), 90, "RGB", "420")
    yield "420_33x17", simplejpeg.encode_jpeg(picture(33, 17, 6), 95, "RGB", "420")
    yield "420_low", simplejpeg.encode_jpeg(picture(50, 40, 7), 15, "RGB", "420")
    yield "420_progressive", pil_jpeg(picture(52, 39, 8), quality=88, progressive=True,
                                      subsampling=2)
    yield "444_progressive", pil_jpeg(picture(31, 26, 9), quality=92, progressive=True,
                                      subsampling=0)
    yield "420_restarts", pil_jpeg(picture(52, 39, 10), quality=85, subsampling=2,
                                   restart_marker_blocks=3)
    yield "gray", pil_jpeg(picture(41, 30, 11)[:, :, 0], quality=90)
    yield "rgb", pil_jpeg(picture(37, 28, 12), quality=90, keep_rgb=True)
    yield "cmyk", pil_jpeg(np.concatenate([picture(34, 27, 13), picture(34, 27, 14)[:, :, :1]], -1),
                           "CMYK", quality=90)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        yield f"exif_{orientation}", pil_jpeg(picture(22, 15, 15), quality=85, exif=exif)


def png_chunk(name, content):
    body = name + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def pack_rows(samples, bits):
    """Rows of PNG data with filter 0: samples is height x width x channels."""
    rows = b""
    for row in samples.reshape(samples.shape[0], -1):
        if bits == 16:
            packed = row.astype(">u2").tobytes()
        elif bits == 8:
            packed = row.astype(np.uint8).tobytes()
        else:
            ones = ((row[:, None].astype(int) >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8)
            packed = np.packbits(ones.reshape(-1)).tobytes()
        rows += b"\0" + packed
    return rows


ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
         (0, 1, 1, 2))


def png(colour, bits, interlaced=False, transparent=False, width=19, height=13):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    random = np.random.default_rng(colour * 100 + bits)
    samples = random.integers(0, 1 << bits, (height, width, channels))
    out = b"\x89PNG\r\n\x1a\n"
    out += png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0,
                                          int(interlaced)))
    if colour == 3:
        out += png_chunk(b"PLTE", random.integers(0, 256, 3 << bits).astype(np.uint8).tobytes())
    if transparent:
        value = {0: struct.pack(">H", int(samples[2, 3, 0])),
                 2: struct.pack(">HHH", *(int(v) for v in samples[2, 3])) if colour == 2 else b"",
                 3: bytes(range(0, 250, 250 >> bits or 1))[:1 << bits]}[colour]
        out += png_chunk(b"tRNS", value)
    if interlaced:
        passes = (samples[y::dy, x::dx] for x, y, dx, dy in ADAM7)
        rows = b"".join(pack_rows(p, bits) for p in passes if p.size)
    else:
        rows = pack_rows(samples, bits)
    return out + png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b"")


def pngs():
    for bits in (1, 2, 4, 8, 16):
        yield f"gray{bits}", png(0, bits)
    for bits in (1, 2, 4, 8):
        yield f"palette{bits}", png(3, bits)
    for colour, name in ((2, "rgb"), (4, "gray_alpha"), (6, "rgba")):
        for bits in (8, 16):
            yield f"{name}{bits}", png(colour, bits)
    yield "palette8_transparent", png(3, 8, transparent=True)
    yield "rgb8_transparent", png(2, 8, transparent=True)
    yield "gray8_transparent", png(0, 8, transparent=True)
    yield "gray2_interlaced", png(0, 2, interlaced=True)
    yield "rgb8_interlaced", png(2, 8, interlaced=True)
    yield "rgba16_interlaced", png(6, 16, interlaced=True)
    yield "palette4_interlaced", png(3, 4, interlaced=True)


def record_jpegs(r):
    for name, data in jpegs():
        file = f"images/{name}.jpg"
        (FOLDER / file).write_bytes(data)
        for dct, method in (("fast", "INTEGER_FAST"), ("accurate", "INTEGER_ACCURATE")):
            full = tf.io.decode_jpeg(data, channels=3, dct_method=method)
            r.add(kind="decode", file=file, dct=dct, channels=3, expected=full.numpy())
        if name == "cmyk":
            continue
        if name in ("420", "gray", "rgb"):
            gray = tf.io.decode_jpeg(data, channels=1, dct_method="INTEGER_FAST")
            r.add(kind="decode", file=file, dct="fast", channels=1, expected=gray.numpy())
        small = tf.image.resize(tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_FAST"),
                                (18, 23)) / 255.0
        r.add(kind="load", file=file, crop=[], flip=False, expected=small.numpy())
    data = (FOLDER / "images/420.jpg").read_bytes()
    full = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_FAST")
    for x, y, w, h in ((0, 0, 30, 20), (7, 11, 21, 17), (13, 6, 39, 33), (51, 38, 1, 1)):
        part = tf.image.resize(full[y:y + h, x:x + w], (14, 15)) / 255.0
        r.add(kind="load", file="images/420.jpg", crop=[x, y, w, h], flip=True,
              expected=tf.image.flip_left_right(part).numpy())


def record_pngs(r):
    for name, data in pngs():
        file = f"images/{name}.png"
        (FOLDER / file).write_bytes(data)
        for channels in (0, 1, 2, 3, 4):
            if channels == 2:
                continue  # tf.io.decode_png does not take 2
            r.add(kind="decode", file=file, dct="fast", channels=channels,
                  expected=tf.io.decode_png(data, channels=channels).numpy())
        small = tf.image.resize(tf.io.decode_png(data, channels=3), (8, 21)) / 255.0
        r.add(kind="load", file=file, crop=[], flip=False, expected=small.numpy())


def record_resizes(r):
    source = picture(23, 19, 21)
    for size in ((9, 11), (31, 27), (19, 12), (1, 1)):
        for method in ("bilinear", "bicubic", "area", "nearest"):
            for antialias in (False, True):
                if antialias and method in ("area", "nearest"):
                    continue
                out = tf.image.resize(source, size, method=method, antialias=antialias)
                r.add(kind="resize", filter=method, antialias=antialias, input=source,
                      expected=tf.cast(out, tf.float32).numpy())


def record_transforms(r):
    source = (picture(12, 9, 31) / 255.0).astype(np.float32)
    image = tf.constant(source)

    def add(op, value, expected):
        r.add(kind="transform", op=op, value=value, input=source, expected=expected.numpy())

    add("brightness", 0.25, tf.image.adjust_brightness(image, 0.25))
    add("contrast", 1.75, tf.image.adjust_contrast(image, 1.75))
    add("flip_left_right", 0, tf.image.flip_left_right(image))
    add("flip_up_down", 0, tf.image.flip_up_down(image))
    for k in (0, 1, 2, 3):
        add("rot90", k, tf.image.rot90(image, k))
    add("to_uint8", 0, tf.image.convert_image_dtype(image * 1.2 - 0.1, tf.uint8,
                                                     saturate=True))
    h, w = source.shape[:2]
    for angle in (0.3, -1.1):
        c, s = np.cos(angle), np.sin(angle)
        # What Keras' RandomRotation applies.
        dx = ((w - 1) - (c * (w - 1) - s * (h - 1))) / 2
        dy = ((h - 1) - (s * (w - 1) + c * (h - 1))) / 2
        for fill in ("CONSTANT", "NEAREST"):
            turned = tf.raw_ops.ImageProjectiveTransformV3(
                images=image[None], transforms=tf.constant([[c, -s, dx, s, c, dy, 0, 0]], tf.float32),
                output_shape=[h, w], fill_value=0.5, interpolation="BILINEAR", fill_mode=fill)[0]
            add("rotate_" + fill.lower(), angle, turned)


def main():
    (FOLDER / "images").mkdir(parents=True, exist_ok=True)
    r = Recorder()
    record_jpegs(r)
    record_pngs(r)
    record_resizes(r)
    record_transforms(r)
    (FOLDER / "images.bin").write_bytes(bytes(r.blob))
    lines = ",\n".join(json.dumps(case) for case in r.cases)
    (FOLDER / "images.json").write_text(
        '{"tensorflow": "%s", "cases": [\n%s\n]}\n' % (tf.__version__, lines))
    print(f"{len(r.cases)} cases, {len(r.blob)} bytes")


if __name__ == "__main__":
    main()
