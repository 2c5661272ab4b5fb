"""tf.strings: byte strings, element by element."""

from __future__ import annotations

import re
from typing import Any, Callable

import numpy as np

from . import _program
from ._convert import convert_to_tensor, tensor
from ._dispatch import op, static_value
from ._dtypes import as_dtype, float32, int32, string
from ._errors import InvalidArgumentError, unsupported
from ._names import absent
from ._ragged import RaggedTensor, from_rows
from ._tensor import Tensor

Symbolic = _program.Symbolic


def _texts(value: Any) -> Any:
    """An object array of bytes of anything."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value
    array = np.asarray(value)
    made = np.empty(array.shape, dtype=object)
    flat = [each.encode() if isinstance(each, str) else bytes(each) for each in array.ravel().tolist()]
    made[...] = np.array(flat, dtype=object).reshape(array.shape) if flat else made
    return made


def _each(function: Callable[[bytes], Any], value: Any, dtype: Any = object) -> Any:
    array = _texts(value)
    made = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        made[index] = function(array[index])
    return made if dtype is object else made.astype(dtype)


def _unit(unit: str, who: str) -> bool:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"{who}: unit must be 'BYTE' or 'UTF8_CHAR', not {unit!r}")
    return unit == "UTF8_CHAR"


def _numbers(array: Any) -> Any:
    """A raw tensor of a NumPy array of numbers."""
    return tensor(array)


def _native(name: str, input: Any, **attributes: Any) -> Any:
    return _program.record(name, [input], **attributes)[0]


# -- one string to another -------------------------------------------------------------------------


@op(name="strings.lower", program=lambda input, encoding="": _lowered("lower", input, encoding))
def lower(input: Any, encoding: str = "") -> Any:
    if encoding == "utf-8":
        return _each(lambda x: x.decode().lower().encode(), input)
    return _each(bytes.lower, input)


@op(name="strings.upper", program=lambda input, encoding="": _lowered("upper", input, encoding))
def upper(input: Any, encoding: str = "") -> Any:
    if encoding == "utf-8":
        return _each(lambda x: x.decode().upper().encode(), input)
    return _each(bytes.upper, input)


def _lowered(name: str, input: Any, encoding: str) -> Any:
    if encoding:
        raise TypeError("programs know ASCII letters")
    return _native(name, input)


@op(name="strings.strip", program=lambda input: _native("strip", input))
def strip(input: Any) -> Any:
    return _each(lambda x: x.strip(), input)


@op(name="strings.regex_replace")
def regex_replace(input: Any, pattern: Any, rewrite: Any, replace_global: bool = True) -> Any:
    """Every match of a pattern replaced; \\1 is its first group. Patterns are Python's here."""
    _no_symbols(input, pattern, rewrite)
    wanted, by = _expression(pattern), _rewrite(rewrite)

    def replaced(x: bytes) -> bytes:
        return _packed(wanted.sub(by, _unpacked(x), count=0 if replace_global else 1))

    return _each(replaced, input)


@op(name="strings.regex_full_match")
def regex_full_match(input: Any, pattern: Any) -> Any:
    _no_symbols(input, pattern)
    wanted = _expression(pattern)
    return _numbers(_each(lambda x: wanted.fullmatch(_unpacked(x)) is not None, input, np.bool_))


def _unpacked(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def _packed(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _no_symbols(*values: Any) -> None:
    if _program.find(list(values)) is not None:
        raise TypeError("a pattern has no instruction")


def _one(value: Any) -> bytes:
    found = _texts(value)
    if found.ndim:
        raise InvalidArgumentError(None, None, f"a scalar string is needed, not one of shape {found.shape}")
    return bytes(found.item())


def _expression(pattern: Any) -> re.Pattern[str]:
    """A pattern of RE2's as Python's: classes are ASCII, characters are UTF-8."""
    text = _unpacked(_one(pattern))
    for name, members in (
        ("[:alpha:]", "a-zA-Z"), ("[:digit:]", "0-9"), ("[:alnum:]", "a-zA-Z0-9"), ("[:space:]", r"\s"),
        ("[:lower:]", "a-z"), ("[:upper:]", "A-Z"), ("[:punct:]", r"!-/:-@\[-`{-~"), (r"\p{P}", r"!-/:-@\[-`{-~"),
    ):
        text = text.replace(name, members)
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise InvalidArgumentError(None, None, f"Invalid pattern: {text}, error: {error}") from None


def _rewrite(rewrite: Any) -> str:
    # \0 is the whole match; Python would take it for an octal character.
    return re.sub(r"\\(\d)", r"\\g<\1>", _unpacked(_one(rewrite)))


@op(name="strings.reduce_join")
def reduce_join(inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "") -> Any:
    if isinstance(inputs, Symbolic):
        if axis not in (None, 0, -1) or keepdims or (inputs.shape is not None and len(inputs.shape) != 1):
            raise TypeError("programs join one row")
        return _native("join", inputs, separator=separator)
    array, by = _texts(inputs), separator.encode() if isinstance(separator, str) else separator
    if axis is None:
        joined = by.join(array.ravel().tolist())
        made = np.empty((1,) * array.ndim if keepdims else (), dtype=object)
        made[...] = joined
        return made
    axes = static_value(axis)
    for each in sorted([a % array.ndim for a in (axes if isinstance(axes, list) else [axes])], reverse=True):
        moved = np.moveaxis(array, each, -1)
        array = np.empty(moved.shape[:-1], dtype=object)
        for index in np.ndindex(array.shape):
            array[index] = by.join(moved[index].tolist())
        if keepdims:
            array = np.expand_dims(array, each)
    return array


@op(name="strings.join")
def join(inputs: Any, separator: str = "") -> Any:
    """Strings side by side, broadcast to one shape."""
    by = separator.encode() if isinstance(separator, str) else separator
    if _program.find(inputs) is not None:
        raise TypeError("joins Python")
    arrays = np.broadcast_arrays(*[_texts(each) for each in inputs])
    made = np.empty(arrays[0].shape, dtype=object)
    for index in np.ndindex(made.shape):
        made[index] = by.join(bytes(each[index]) for each in arrays)
    return made


@op(name="strings.substr")
def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE") -> Any:
    wide = _unit(unit, "tf.strings.substr")
    if isinstance(input, Symbolic):
        if wide or _program.find([pos, len]) is not None or not isinstance(static_value(pos), int):
            raise TypeError("programs take bytes at known positions")
        return _native("substr", input, begin=int(static_value(pos)), count=int(static_value(len)))
    array = _texts(input)
    begins, counts = np.asarray(static_value(pos)), np.asarray(static_value(len))
    shape = np.broadcast_shapes(array.shape, begins.shape, counts.shape)
    array, begins, counts = (np.broadcast_to(a, shape) for a in (array, begins, counts))
    texts: Any = array
    made = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        text: Any = texts[index].decode() if wide else texts[index]
        begin, size = int(begins[index]), _length(text)
        if begin > size or begin < -size:
            raise InvalidArgumentError(None, None, f"pos {begin} out of range for string {array[index]!r}")
        begin = begin + size if begin < 0 else begin
        part = text[begin:begin + int(counts[index])]
        made[index] = part.encode() if wide else part
    return made


def _length(value: Any) -> int:
    return value.__len__()  # type: ignore[no-any-return]


@op(name="strings.length")
def length(input: Any, unit: str = "BYTE") -> Any:
    wide = _unit(unit, "tf.strings.length")
    if isinstance(input, Symbolic):
        if wide:
            raise TypeError("programs count bytes")
        return _native("length", input).to("i32")
    return _numbers(_each(lambda x: _length(x.decode()) if wide else _length(x), input, np.int32))


@op(name="strings.to_number")
def to_number(input: Any, out_type: Any = float32) -> Any:
    dtype = as_dtype(out_type)
    if isinstance(input, Symbolic):
        return _native("to_number", input, dtype=dtype.pm)

    def number(text: bytes) -> Any:
        try:
            return float(text) if dtype.is_floating else int(text)
        except ValueError:
            raise InvalidArgumentError(
                None, None, f"StringToNumberOp could not correctly convert string: {text.decode(errors='replace')}"
            ) from None

    return _numbers(_each(number, input, dtype.as_numpy_dtype))


@op(name="strings.as_string")
def as_string(
    input: Any, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1, fill: str = ""
) -> Any:
    if isinstance(input, Symbolic):
        raise TypeError("numbers have no instruction")
    array = np.asarray(input.numpy() if hasattr(input, "numpy") else input)
    if array.dtype == object:
        return array
    kind = "e" if scientific else "g" if shortest else "f"

    def text(value: Any) -> bytes:
        if array.dtype.kind == "b":
            shown = "true" if value else "false"
        elif array.dtype.kind == "f":
            digits = 6 if precision < 0 else precision
            shown = f"{float(value):.{digits}{kind}}"
        else:
            shown = str(int(value))
        if width > 0:
            pad = fill or " "
            shown = shown.ljust(width) if pad == "-" else shown.zfill(width) if pad == "0" else shown.rjust(width, pad)
        return shown.encode()

    made = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        made[index] = text(array[index])
    return made


def format(template: str, inputs: Any = (), placeholder: str = "{}", summarize: int = 3, name: str | None = None) -> Any:  # noqa: A001
    """`template` with the inputs printed in its placeholders."""
    values = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != _length(values):
        raise ValueError(f"{template.count(placeholder)} placeholder(s) in the template, and {_length(values)} inputs")
    text = template
    for each in values:
        shown = _summary(convert_to_tensor(each), summarize)
        text = text.replace(placeholder, shown, 1)
    return convert_to_tensor(text)


def _summary(value: Tensor, most: int) -> str:
    array = np.asarray(value.numpy())
    if array.ndim == 0:
        return _scalar(array.item())
    parts = [_summary(value[i], most) for i in builtin_range(array.shape[0]) if most < 0 or array.shape[0] <= 2 * most
             or i < most or i >= array.shape[0] - most]
    if most >= 0 and array.shape[0] > 2 * most:
        parts.insert(most, "...")
    return "[" + (" " if array.ndim == 1 else "\n ").join(parts) + "]"


builtin_range = range


def _scalar(value: Any) -> str:
    if isinstance(value, bytes):
        return f'"{value.decode(errors="replace")}"'
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


# -- several strings of one ------------------------------------------------------------------------


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of strings: a tensor of one string, a RaggedTensor of several."""
    text = convert_to_tensor(input)
    by = None if sep is None or sep == "" else (sep if isinstance(sep, bytes) else str(sep).encode())
    if isinstance(text._value, Symbolic):
        return _split_symbolic(text, by, maxsplit)
    if len(text.shape) == 0:
        return Tensor(_parts(text.numpy(), by, maxsplit))
    rows = [_parts(each, by, maxsplit) for each in text._value.ravel().tolist()]
    found = from_rows(rows, string)
    if len(text.shape) == 1:
        return found
    if len(text.shape) == 2:
        return RaggedTensor.from_row_lengths(found, [text.shape[1]] * int(text.shape[0] or 0))
    unsupported("tf.strings.split", f"an input of rank {len(text.shape)}", "use reshape first")


def _parts(text: bytes, by: bytes | None, maxsplit: int) -> Any:
    if by is None and maxsplit > 0:
        found: list[bytes] = []
        rest = text.lstrip()
        while rest and _length(found) < maxsplit:
            token = rest.split(None, 1)[0]
            rest = rest[_length(token):].lstrip()
            found.append(token)
        if _length(found) == maxsplit:
            found.append(rest)
    else:
        found = text.split(by, maxsplit if maxsplit > 0 else -1)
    made = np.empty(_length(found), dtype=object)
    made[:] = found
    return made


def _split_symbolic(text: Tensor, by: bytes | None, maxsplit: int) -> Tensor:
    if text._value.shape not in ((), None):
        raise TypeError("programs split one string")
    if by is not None and maxsplit < 0:
        return Tensor(_native("split_text", text._value, separator=by))
    made: list[Tensor] = _program.call_function(
        lambda value: [_program.strings(_parts(value, by, maxsplit))], [text], [(string, [None])], "tf.strings.split"
    )
    return made[0]


@op(name="strings.bytes_split")
def _bytes_split(input: Any) -> Any:
    array = _texts(input)
    return np.array([bytes([b]) for b in array.item()], dtype=object)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """Single bytes of strings."""
    text = convert_to_tensor(input)
    if text.is_concrete and len(text.shape) == 1:
        return from_rows([np.array([bytes([b]) for b in x], dtype=object) for x in text._value], string)
    return _bytes_split(text)


def unicode_split(input: Any, input_encoding: str = "UTF-8", errors: str = "replace", replacement_char: int = 65533, name: str | None = None) -> Any:
    """Single characters of strings."""
    text = convert_to_tensor(input)

    def characters(value: bytes) -> Any:
        found = [c.encode() for c in value.decode(input_encoding, errors)]
        made = np.empty(_length(found), dtype=object)
        made[:] = found
        return made

    if not text.is_concrete:
        made: list[Tensor] = _program.call_function(
            lambda value: [_program.strings(characters(value))], [text], [(string, [None])], "tf.strings.unicode_split"
        )
        return made[0]
    if len(text.shape) == 0:
        return Tensor(characters(text.numpy()))
    return from_rows([characters(each) for each in text._value.ravel().tolist()], string)


def unicode_decode(input: Any, input_encoding: str = "UTF-8", errors: str = "replace", replacement_char: int = 65533, replace_control_characters: bool = False, name: str | None = None) -> Any:
    """Code points of strings."""
    text = convert_to_tensor(input)
    if len(text.shape) == 0:
        return convert_to_tensor(np.array([ord(c) for c in text.numpy().decode(input_encoding, errors)], np.int32))
    rows = [np.array([ord(c) for c in x.decode(input_encoding, errors)], np.int32) for x in text._value.tolist()]
    return from_rows(rows, int32)


def unicode_encode(input: Any, output_encoding: str = "UTF-8", errors: str = "replace", replacement_char: int = 65533, name: str | None = None) -> Any:
    """Strings of code points."""
    if isinstance(input, RaggedTensor):
        return convert_to_tensor([bytes("".join(map(chr, row)), "utf-8") for row in input.to_list()])
    array = np.asarray(convert_to_tensor(input).numpy())
    if array.ndim == 1:
        return convert_to_tensor("".join(map(chr, array.tolist())).encode())
    return convert_to_tensor(["".join(map(chr, row)).encode() for row in array.tolist()])


def unicode_transcode(input: Any, input_encoding: str, output_encoding: str, errors: str = "replace", replacement_char: int = 65533, replace_control_characters: bool = False, name: str | None = None) -> Any:
    """Strings in another encoding."""
    if errors not in ("replace", "ignore", "strict") or replacement_char != 65533 or replace_control_characters:
        unsupported("tf.strings.unicode_transcode", "replacement_char, replace_control_characters", "leave them out")
    if isinstance(input, RaggedTensor):
        return input.with_values(unicode_transcode(input.flat_values, input_encoding, output_encoding, errors))
    array = np.asarray(convert_to_tensor(input).numpy(), dtype=object)
    made = np.empty(array.shape, dtype=object)
    for place in np.ndindex(array.shape):
        made[place] = bytes(array[place]).decode(input_encoding, errors).encode(output_encoding, errors)
    return convert_to_tensor(made, string)


def ngrams(data: Any, ngram_width: Any, separator: str = " ", pad_values: Any = None, padding_width: Any = None, preserve_short_sequences: bool = False, name: str | None = None) -> Any:
    """Runs of neighbouring strings."""
    if pad_values is not None or padding_width is not None or preserve_short_sequences:
        unsupported("tf.strings.ngrams", "pad_values, padding_width, preserve_short_sequences", "leave them out")
    widths = ngram_width if isinstance(ngram_width, (list, tuple)) else [ngram_width]
    by = separator.encode()

    def grams(row: list[bytes]) -> list[bytes]:
        return [by.join(row[i:i + n]) for n in widths for i in range(_length(row) - n + 1)]

    if isinstance(data, RaggedTensor):
        return from_rows([np.array(grams(row), dtype=object) for row in data.to_list()], string)
    text = convert_to_tensor(data)
    if len(text.shape) == 1:
        return convert_to_tensor(np.array(grams(text._value.tolist()), dtype=object))
    return from_rows([np.array(grams(row), dtype=object) for row in text._value.tolist()], string)


__all__ = [
    "as_string", "bytes_split", "format", "join", "length", "lower", "ngrams", "reduce_join", "regex_full_match",
    "regex_replace", "split", "strip", "substr", "to_number", "unicode_decode",
    "unicode_encode", "unicode_split", "unicode_transcode", "upper",
]


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(name)
    absent(f"tf.strings.{name}", f"tf.strings has {', '.join(__all__)}")
