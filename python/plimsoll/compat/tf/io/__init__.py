"""tf.io: files, pictures, records, features."""

from __future__ import annotations

from . import gfile
from .._names import absent
from ._files import TFRecordOptions, TFRecordWriter, matching_files, read_file, write_file
from ._parsing import (
    FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, SparseFeature, VarLenFeature, decode_csv, decode_raw,
    parse_example, parse_single_example, parse_single_sequence_example, parse_tensor, serialize_tensor,
)
from ._pictures import (
    decode_bmp, decode_image, decode_jpeg, decode_png, encode_jpeg, encode_png, extract_jpeg_shape, is_jpeg,
)


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(name)
    absent(f"tf.io.{name}", f"tf.io has {', '.join(__all__)}")


__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "RaggedFeature", "SparseFeature", "TFRecordOptions",
    "TFRecordWriter", "VarLenFeature", "decode_bmp", "decode_csv", "decode_image", "decode_jpeg", "decode_png",
    "decode_raw", "encode_jpeg", "encode_png", "extract_jpeg_shape", "gfile", "is_jpeg", "matching_files",
    "parse_example", "parse_single_example", "parse_single_sequence_example", "parse_tensor", "read_file",
    "serialize_tensor", "write_file",
]
