"""tf.audio: WAV files of 16 bits."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from . import _dtypes, _names
from ._convert import convert_to_tensor
from ._errors import InvalidArgumentError
from ._program import Symbolic, call_function
from ._results import DecodeWav
from ._tensor import Tensor

__all__ = ["decode_wav", "encode_wav"]


def decode_wav(contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> DecodeWav:
    """The samples of a WAV file as floats from -1 to 1, [samples, channels], and the sample rate."""
    data = convert_to_tensor(contents)
    channels, samples = int(desired_channels), int(desired_samples)
    if isinstance(data._value, Symbolic):
        def run(value: Any) -> list[Any]:
            found = _decoded(bytes(value), channels, samples)
            return [convert_to_tensor(found[0])._value, convert_to_tensor(found[1])._value]

        dims = [samples if samples > 0 else None, channels if channels > 0 else None]
        audio, rate = call_function(run, [data], [(_dtypes.float32, dims), (_dtypes.int32, [])], "tf.audio.decode_wav")
        return DecodeWav(audio, rate)
    audio, rate = _decoded(bytes(data.numpy()), channels, samples)
    return DecodeWav(convert_to_tensor(audio), convert_to_tensor(rate))


def _decoded(data: bytes, channels: int, samples: int) -> tuple[Any, Any]:
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise InvalidArgumentError(None, None, "Header mismatch: Expected RIFF and WAVE at the beginning of a WAV file")
    at, have, rate, body = 12, 0, 0, b""
    while at + 8 <= len(data):
        name, size = data[at:at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if name == b"fmt ":
            kind, have, rate, _, _, bits = struct.unpack_from("<HHIIHH", data, at + 8)
            if kind not in (1, 0xFFFE) or bits != 16:
                raise InvalidArgumentError(None, None, f"Can only read 16-bit WAV files, but received {bits} (format {kind})")
        elif name == b"data":
            body = data[at + 8:at + 8 + size]
        at += 8 + size + size % 2
    if not have:
        raise InvalidArgumentError(None, None, "the WAV file has no format")
    found = np.frombuffer(body[: len(body) // (2 * have) * 2 * have], "<i2").reshape(-1, have)
    found = found.astype(np.float32) / 32768.0
    if channels > 0 and channels != have:
        found = found[:, :channels] if channels < have else np.concatenate(
            [found] + [found[:, -1:]] * (channels - have), axis=1)
    if samples > 0:
        found = found[:samples]
        found = np.pad(found, ((0, samples - len(found)), (0, 0)))
    return np.ascontiguousarray(found), np.int32(rate)


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """Samples [samples, channels] from -1 to 1 as a WAV file."""
    found = np.asarray(convert_to_tensor(audio).numpy(), np.float32)
    if found.ndim != 2:
        raise InvalidArgumentError(None, None, f"audio must be 2-dimensional but got shape {list(found.shape)}")
    rate, channels = int(convert_to_tensor(sample_rate).numpy()), found.shape[1]
    body = np.clip(np.round(found * 32768.0), -32768, 32767).astype("<i2").tobytes()
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(body), b"WAVE", b"fmt ", 16, 1, channels, rate,
                       rate * channels * 2, channels * 2, 16, b"data", len(body))
    return convert_to_tensor(head + body)


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.audio.{name}", __all__)
