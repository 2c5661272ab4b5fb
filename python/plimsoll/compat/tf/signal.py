"""tf.signal: frames, windows, Fourier and cosine transforms, mel scales.

Transforms of values that are known are NumPy's. In a function that is traced, and under a tape, they are
products with a matrix of cosines and sines, which a plan and a gradient can follow.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import _dtypes, _names
from ._arrays import pad, reshape
from ._complex import ComplexTensor, as_complex
from ._convert import convert_to_tensor
from ._errors import unsupported
from ._gather import gather
from ._operators import add, matmul, subtract
from ._program import Symbolic, call_function
from ._state import state
from ._tensor import Tensor

__all__ = [
    "dct", "fft", "frame", "hamming_window", "hann_window", "idct", "ifft", "inverse_stft",
    "inverse_stft_window_fn", "irfft",
    "linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms", "overlap_and_add", "rfft", "stft",
    "vorbis_window",
]

_LONGEST = 4096  # of a transform by a matrix


def _cosine_window(length: Any, periodic: bool, dtype: Any, a: float) -> Tensor:
    size = int(length)
    span = size if periodic and size % 2 == 0 else size - 1  # of an odd length both are alike, as in TensorFlow
    made = np.ones(1) if size == 1 else a - (1 - a) * np.cos(2 * np.pi * np.arange(size) / span)
    return convert_to_tensor(made.astype(_dtypes.as_dtype(dtype).as_numpy_dtype))


def hann_window(window_length: Any, periodic: bool = True, dtype: Any = "float32", name: str | None = None) -> Tensor:
    """A raised cosine."""
    return _cosine_window(window_length, bool(periodic), dtype, 0.5)


def hamming_window(window_length: Any, periodic: bool = True, dtype: Any = "float32", name: str | None = None) -> Tensor:
    return _cosine_window(window_length, bool(periodic), dtype, 0.54)


def vorbis_window(window_length: Any, dtype: Any = "float32", name: str | None = None) -> Tensor:
    size = int(window_length)
    inner = np.sin(np.pi / size * (np.arange(size) + 0.5))
    return convert_to_tensor(np.sin(np.pi / 2 * inner**2).astype(_dtypes.as_dtype(dtype).as_numpy_dtype))


def frame(
    signal: Any, frame_length: Any, frame_step: Any, pad_end: bool = False, pad_value: Any = 0, axis: int = -1,
    name: str | None = None,
) -> Any:
    """Overlapping parts of a signal: its last axis becomes [frames, frame_length]."""
    x = convert_to_tensor(signal)
    if axis not in (-1, len(x.shape) - 1):
        unsupported("tf.signal.frame", f"axis={axis}", "transpose the signal so that time is its last axis")
    length, step = int(frame_length), int(frame_step)
    size = x.shape[-1]
    if size is None:
        unsupported("tf.signal.frame of a signal whose length is not known", way="pad or cut it to a known length")
    count = -(-size // step) if pad_end else max(0, 1 + (size - length) // step)
    if pad_end and (missing := max(0, length + step * (count - 1) - size)):
        x = pad(x, [[0, 0]] * (len(x.shape) - 1) + [[0, missing]], constant_values=pad_value)
    if count == 0:
        return reshape(x[..., :0], [*x.shape[:-1], 0, length])
    at = np.arange(count)[:, None] * step + np.arange(length)[None, :]
    return gather(x, at.astype(np.int32), axis=-1)


def _is_known(x: Tensor) -> bool:
    return x.is_concrete and not state.tapes


def _fitted(x: Tensor, size: int) -> Any:
    """The last axis cut or padded with zeros to a size."""
    have = int(x.shape[-1] or 0)
    if have > size:
        return x[..., :size]
    return pad(x, [[0, 0]] * (len(x.shape) - 1) + [[0, size - have]]) if have < size else x


def _by_matrix(x: Tensor, matrix: Any) -> Any:
    rows = matmul(reshape(x, [-1, int(x.shape[-1] or 0)]), convert_to_tensor(matrix.astype(x.dtype.as_numpy_dtype)))
    return reshape(rows, [*[-1 if n is None else n for n in x.shape[:-1]], matrix.shape[1]])


def _parts(array: Any) -> ComplexTensor:
    return ComplexTensor(convert_to_tensor(np.ascontiguousarray(array.real)),
                         convert_to_tensor(np.ascontiguousarray(array.imag)))


def _short(size: int, who: str) -> None:
    if size > _LONGEST:
        unsupported(f"{who} of {size} points in a function that is traced or under a tape",
                    way=f"use frames of at most {_LONGEST}, or compute it outside of the function")


def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> ComplexTensor:
    """The spectrum of real values along the last axis: fft_length // 2 + 1 complex numbers."""
    x = convert_to_tensor(input_tensor)
    size = int(x.shape[-1] if fft_length is None else np.ravel(_number(fft_length))[0])
    x = _fitted(x, size)
    if _is_known(x):
        return _parts(np.fft.rfft(x.numpy(), size))
    _short(size, "tf.signal.rfft")
    angles = 2 * np.pi * np.outer(np.arange(size), np.arange(size // 2 + 1)) / size
    return ComplexTensor(_by_matrix(x, np.cos(angles)), _by_matrix(x, -np.sin(angles)))


def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Any:
    """Real values of a spectrum."""
    x = as_complex(input_tensor)
    bins = int(x.shape[-1] or 0)
    size = 2 * (bins - 1) if fft_length is None else int(np.ravel(_number(fft_length))[0])
    wanted = size // 2 + 1
    x = ComplexTensor(_fitted(x.real, wanted), _fitted(x.imag, wanted))
    if _is_known(x.real):
        return convert_to_tensor(np.fft.irfft(x.numpy(), size).astype(x.real.dtype.as_numpy_dtype))
    _short(size, "tf.signal.irfft")
    angles = 2 * np.pi * np.outer(np.arange(wanted), np.arange(size)) / size
    weight = np.full((wanted, 1), 2.0 / size)
    weight[0] = 1.0 / size
    if size % 2 == 0:
        weight[-1] = 1.0 / size
    return subtract(_by_matrix(x.real, np.cos(angles) * weight), _by_matrix(x.imag, np.sin(angles) * weight))


def fft(input: Any, name: str | None = None) -> ComplexTensor:
    """The spectrum of complex values along the last axis."""
    return _full(input, -1.0, "tf.signal.fft")


def ifft(input: Any, name: str | None = None) -> ComplexTensor:
    return _full(input, 1.0, "tf.signal.ifft")


def _full(given: Any, sign: float, who: str) -> ComplexTensor:
    x = as_complex(given)
    size = int(x.shape[-1] or 0)
    if _is_known(x.real):
        return _parts((np.fft.fft if sign < 0 else np.fft.ifft)(x.numpy()))
    _short(size, who)
    angles = 2 * np.pi * np.outer(np.arange(size), np.arange(size)) / size
    scale = 1.0 if sign < 0 else 1.0 / size
    cosine, sine = np.cos(angles) * scale, np.sin(angles) * scale * sign
    return ComplexTensor(subtract(_by_matrix(x.real, cosine), _by_matrix(x.imag, sine)),
                         add(_by_matrix(x.real, sine), _by_matrix(x.imag, cosine)))


def stft(
    signals: Any, frame_length: Any, frame_step: Any, fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window, pad_end: bool = False, name: str | None = None,
) -> ComplexTensor:
    """Spectra of overlapping windows of a signal: [..., frames, fft_length // 2 + 1]."""
    x = convert_to_tensor(signals)
    length, step = int(frame_length), int(frame_step)
    size = _power_of_two(length) if fft_length is None else int(fft_length)
    if isinstance(x._value, Symbolic):
        return _in_map(x, length, step, size, window_fn, pad_end)
    parts = frame(x, length, step, pad_end)
    if window_fn is not None:
        parts = parts * window_fn(length, dtype=parts.dtype)
    return rfft(parts, [size])


def _in_map(x: Tensor, length: int, step: int, size: int, window_fn: Any, pad_end: bool) -> ComplexTensor:
    """In Dataset.map: NumPy's transform for each element."""
    def run(value: Any) -> list[Any]:
        found = stft(Tensor(value), length, step, size, window_fn, pad_end)
        return [found.real._value, found.imag._value]

    known = x.shape[-1]
    count = None if known is None else (-(-known // step) if pad_end else max(0, 1 + (known - length) // step))
    dims = [*x.shape[:-1], count, size // 2 + 1]
    real, imag = call_function(run, [x], [(x.dtype, dims), (x.dtype, dims)], "tf.signal.stft")
    return ComplexTensor(real, imag)


def inverse_stft(
    stfts: Any, frame_length: Any, frame_step: Any, fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window, name: str | None = None,
) -> Any:
    """The signal of such spectra: windows added up where they overlap."""
    length = int(frame_length)
    size = _power_of_two(length) if fft_length is None else int(fft_length)
    parts = _fitted(irfft(stfts, [size]), length)
    if window_fn is not None:
        parts = parts * window_fn(length, dtype=parts.dtype)
    return overlap_and_add(parts, frame_step)


def inverse_stft_window_fn(frame_step: Any, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None) -> Any:
    """The window for inverse_stft that undoes a forward window."""
    step = int(frame_step)

    def window(frame_length: Any, dtype: Any = "float32") -> Tensor:
        forward = np.asarray(forward_window_fn(frame_length, dtype=dtype).numpy())
        overlaps = -(-len(forward) // step)
        squares = np.pad(forward**2, (0, overlaps * step - len(forward))).reshape(overlaps, step).sum(0)
        return convert_to_tensor((forward / np.tile(squares, overlaps)[: len(forward)]).astype(forward.dtype))

    return window


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Any:
    """Frames [..., frames, length] as a signal, added up where they overlap."""
    x, step = convert_to_tensor(signal), int(frame_step)
    count, length = int(x.shape[-2] or 0), int(x.shape[-1] or 0)
    size = step * (count - 1) + length
    total: Any = None
    for i in range(count):
        sides = [[0, 0]] * (len(x.shape) - 2) + [[i * step, size - length - i * step]]
        part = pad(x[..., i, :], sides)
        total = part if total is None else add(total, part)
    return total


def dct(input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None, name: str | None = None) -> Any:
    """The cosine transform of the second kind."""
    return _cosines(input, type, n, axis, norm, "tf.signal.dct", False)


def idct(input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None, name: str | None = None) -> Any:
    return _cosines(input, type, n, axis, norm, "tf.signal.idct", True)


def _cosines(given: Any, kind: int, n: Any, axis: int, norm: str | None, who: str, inverse: bool) -> Any:
    if kind != 2 or axis != -1 or (inverse and n is not None):
        unsupported(who, f"type={kind}, axis={axis}, n={n}", "type 2 along the last axis is there")
    x = convert_to_tensor(given)
    size = int(x.shape[-1] or 0) if n is None else int(n)
    x = _fitted(x, size)
    matrix = 2 * np.cos(np.pi * np.outer(np.arange(size) + 0.5, np.arange(size)) / size)
    if norm == "ortho":
        matrix = matrix * np.sqrt(1 / (2 * size))
        matrix[:, 0] /= np.sqrt(2)
        return _by_matrix(x, matrix.T if inverse else matrix)
    if inverse:
        back = matrix.T.copy()
        back[0] /= 2
        return _by_matrix(x, back)
    return _by_matrix(x, matrix)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20, num_spectrogram_bins: Any = 129, sample_rate: Any = 8000, lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0, dtype: Any = "float32", name: str | None = None,
) -> Tensor:
    """A matrix [spectrogram bins, mel bins] of triangles on the mel scale."""
    bins, rate = int(_number(num_spectrogram_bins)), float(_number(sample_rate))

    def mel(hertz: Any) -> Any:
        return 1127.0 * np.log(1.0 + np.asarray(hertz, np.float64) / 700.0)

    places = mel(np.linspace(0.0, rate / 2, bins)[1:])[:, None]
    edges = np.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), num_mel_bins + 2)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    rise, fall = (places - low) / (middle - low), (high - places) / (high - middle)
    made = np.concatenate([np.zeros((1, num_mel_bins)), np.maximum(0, np.minimum(rise, fall))])
    return convert_to_tensor(made.astype(_dtypes.as_dtype(dtype).as_numpy_dtype))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Any:
    """Cepstral coefficients: the cosine transform of log mel spectrograms."""
    x = convert_to_tensor(log_mel_spectrograms)
    return dct(x) * float(1 / np.sqrt(2 * int(x.shape[-1] or 1)))


def _power_of_two(length: int) -> int:
    return 1 << max(0, length - 1).bit_length()


def _number(value: Any) -> Any:
    return value.numpy() if isinstance(value, Tensor) else value


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.signal.{name}", __all__)
