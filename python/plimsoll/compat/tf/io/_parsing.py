"""Numbers and features of strings: tf.io.parse_single_example, decode_raw, decode_csv, parse_tensor."""

from __future__ import annotations

import csv
import struct
from typing import Any, NamedTuple, Sequence

import numpy as np

import plimsoll as pm

from .. import _program
from .._convert import convert_to_tensor, numpy_of
from .._convert import tensor as raw_tensor
from .._dispatch import op
from .._dtypes import BY_NAME, DType, as_dtype, float32, int64, string
from .._errors import InvalidArgumentError, unsupported
from .._examples import Example, SequenceExample, _field, _fields, _varint
from .._ragged import FeatureList, SparseTensor, from_rows
from .._shape import TensorShape
from .._tensor import Tensor


class FixedLenFeature(NamedTuple):
    """A feature of a fixed shape."""

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature of any length: a SparseTensor."""

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A feature whose first extent is free: [?, *shape]."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class RaggedFeature(NamedTuple):
    """A feature of any length: a RaggedTensor of several examples, a tensor of one."""

    dtype: Any
    value_key: Any = None
    partitions: Any = ()
    row_splits_dtype: Any = "int32"


class SparseFeature(NamedTuple):
    index_key: Any
    value_key: Any
    dtype: Any
    size: Any
    already_sorted: bool = False


def parse_single_example(serialized: Any, features: dict[str, Any], example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """The features of one serialized tf.train.Example."""
    if not features:
        raise ValueError("Missing features.")
    text = convert_to_tensor(serialized)
    if len(text.shape) != 0:
        raise InvalidArgumentError(None, None, f"Input serialized must be a scalar, not of shape {text.shape}")
    return {key: _feature(text, key, features[key]) for key in sorted(features)}


parse_single_example_v2 = parse_single_example


def _dims(spec: Any) -> list[int]:
    if isinstance(spec, (VarLenFeature, RaggedFeature)):
        return [-1]
    shape = TensorShape(spec.shape).as_list()
    if isinstance(spec, FixedLenSequenceFeature):
        return [-1, *(int(each or 0) for each in shape)]
    if None in shape[1:]:
        raise ValueError(f"First dimension of shape for feature may be None only: {spec.shape}")
    return [-1 if each is None else each for each in shape]


def _feature(text: Tensor, key: str, spec: Any) -> Any:
    if isinstance(spec, SparseFeature):
        unsupported("tf.io.SparseFeature", way="use tf.io.VarLenFeature for indices and values")
    if isinstance(spec, RaggedFeature):
        if spec.partitions:
            unsupported("tf.io.RaggedFeature", "partitions", "parse each feature, and use tf.RaggedTensor.from_row_splits")
        key = spec.value_key if spec.value_key is not None else key
    dtype = as_dtype(spec.dtype)
    if dtype not in (float32, int64, string):
        raise ValueError(f"Unsupported dtype {dtype.name} of feature {key}; an Example has float32, int64 and string")
    attributes: dict[str, Any] = {"name": key, "dtype": dtype.pm, "dims": _dims(spec)}
    default = getattr(spec, "default_value", None)
    if default is not None:
        array = np.asarray(default.numpy() if isinstance(default, Tensor) else default, dtype=object).ravel()
        if any(each != array[0] for each in array[1:]):
            unsupported("tf.io.FixedLenFeature", "a default_value of several numbers", "give one for all")
        first = array[0]
        if dtype == string:
            attributes["missing_text"] = first if isinstance(first, bytes) else str(first).encode()
        else:
            attributes["missing"] = float(first)
    made = _run(text, attributes, key, spec)
    if isinstance(spec, VarLenFeature):
        if not made.is_concrete:
            return FeatureList(made)
        count = int(made.shape[0] or 0)
        return SparseTensor(np.arange(count).reshape(-1, 1), made, [count])
    return made


def _run(text: Tensor, attributes: dict[str, Any], key: str, spec: Any) -> Tensor:
    if isinstance(text._value, _program.Symbolic):
        return Tensor(_program.record("parse_feature", [text._value], **attributes)[0])
    try:
        return Tensor(_program.run("parse_feature", [text.numpy()], **attributes))
    except pm.DataError as error:
        raise InvalidArgumentError(None, None, f"Key: {key}.  Can't parse serialized Example: {error}") from None


def parse_example(serialized: Any, features: dict[str, Any], example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """The features of serialized tf.train.Examples, put together in batches."""
    text = convert_to_tensor(serialized)
    if len(text.shape) == 0:
        return parse_single_example(text, features)
    if not text.is_concrete:
        return _parse_symbolic(text, features)
    rows = [parse_single_example(Tensor(_scalar(each)), features) for each in text._value.ravel()]
    return {key: _together([row[key] for row in rows], features[key]) for key in sorted(features)}


def _parse_symbolic(text: Tensor, features: dict[str, Any]) -> dict[str, Any]:
    """Batches of examples while Dataset.map is traced: fixed features only."""
    keys = sorted(features)
    specs: list[tuple[DType, Sequence[int | None]]] = []
    for key in keys:
        if not isinstance(features[key], (FixedLenFeature, FixedLenSequenceFeature)):
            unsupported(
                "tf.io.parse_example", f"{type(features[key]).__name__} in Dataset.map",
                "use parse_single_example before batch, then padded_batch",
            )
        dims = [None if each < 0 else each for each in _dims(features[key])]
        first = text._value.shape[0] if text._value.shape else None
        specs.append((as_dtype(features[key].dtype), [first, *dims]))

    def run(value: Any) -> list[Any]:
        with _program.quiet():
            found = parse_example(Tensor(value), features)
        return [_program.host(found[key]) for key in keys]

    made = _program.call_function(run, [text], specs, "tf.io.parse_example")
    return dict(zip(keys, made))


def _scalar(data: Any) -> Any:
    made = np.empty((), dtype=object)
    made[()] = data
    return made


def _together(values: list[Any], spec: Any) -> Any:
    if isinstance(spec, VarLenFeature):
        arrays = [np.asarray(each.values.numpy()) for each in values]
        places = [(i, j) for i, each in enumerate(arrays) for j in range(len(each))]
        flat = [x for each in arrays for x in each]
        dtype = as_dtype(spec.dtype)
        filled = np.array(flat, dtype=object if dtype == string else dtype.as_numpy_dtype)
        width = max((len(each) for each in arrays), default=0)
        return SparseTensor(np.asarray(places, np.int64).reshape(-1, 2), convert_to_tensor(filled, dtype), [len(arrays), width])
    arrays = [np.asarray(each.numpy()) for each in values]
    if isinstance(spec, RaggedFeature):
        return from_rows(arrays, as_dtype(spec.dtype))
    if isinstance(spec, FixedLenSequenceFeature):
        longest = max((len(each) for each in arrays), default=0)
        empty: Any = b"" if as_dtype(spec.dtype) == string else 0
        fill = empty if spec.default_value is None else spec.default_value
        padded = np.full((len(arrays), longest, *arrays[0].shape[1:]), fill, arrays[0].dtype)
        for i, each in enumerate(arrays):
            padded[i, : len(each)] = each
        return convert_to_tensor(padded, as_dtype(spec.dtype))
    return convert_to_tensor(np.stack(arrays), as_dtype(spec.dtype))


def parse_single_sequence_example(
    serialized: Any, context_features: Any = None, sequence_features: Any = None, example_name: Any = None, name: str | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(context, sequences) of a serialized tf.train.SequenceExample."""
    text = convert_to_tensor(serialized)
    if not text.is_concrete:
        unsupported("tf.io.parse_single_sequence_example in Dataset.map", way="wrap it in tf.py_function")
    found = SequenceExample.FromString(text.numpy())
    context = Example(features=found.context).SerializeToString()
    first = parse_single_example(context, context_features) if context_features else {}
    second: dict[str, Any] = {}
    for key in sorted(sequence_features or {}):
        spec = sequence_features[key]
        dtype = as_dtype(spec.dtype)
        steps = [_list_of(each) for each in found.feature_lists.feature_list[key].feature]
        if isinstance(spec, FixedLenSequenceFeature):
            shape = (len(steps), *(int(each or 0) for each in TensorShape(spec.shape).as_list()))
            flat = [x for step in steps for x in step]
            second[key] = convert_to_tensor(_filled(flat, dtype).reshape(shape), dtype)
        elif isinstance(spec, RaggedFeature):
            second[key] = from_rows([_filled(step, dtype) for step in steps], dtype)
        else:
            ragged = from_rows([_filled(step, dtype) for step in steps], dtype)
            second[key] = ragged.to_sparse()
    return first, second


def _list_of(feature: Any) -> list[Any]:
    kind = feature.WhichOneof()
    return list(getattr(feature, kind).value) if kind else []


def _filled(values: list[Any], dtype: DType) -> Any:
    if dtype == string:
        made = np.empty(len(values), dtype=object)
        made[:] = values
        return made
    return np.array(values, dtype=dtype.as_numpy_dtype)


# -- bytes and lines -------------------------------------------------------------------------------


@op(name="io.decode_raw")
def decode_raw(input_bytes: Any, out_type: Any, little_endian: bool = True, fixed_length: Any = None) -> Any:
    """The bytes of strings as numbers along a new last dimension."""
    dtype = as_dtype(out_type)
    if isinstance(input_bytes, _program.Symbolic):
        if not little_endian or fixed_length is not None or input_bytes.shape != ():
            raise TypeError("programs decode one little-endian string")
        return _program.record("decode_raw", [input_bytes], dtype=dtype.pm)[0]
    array = np.asarray(input_bytes, dtype=object)
    kind = np.dtype(dtype.as_numpy_dtype).newbyteorder("<" if little_endian else ">")
    rows = []
    for each in array.ravel().tolist():
        data = each.encode() if isinstance(each, str) else each
        if fixed_length is not None:
            data = data[: int(fixed_length)].ljust(int(fixed_length), b"\0")
        if len(data) % kind.itemsize:
            raise InvalidArgumentError(
                None, None, f"Input to DecodeRaw has length {len(data)} that is not a multiple of {kind.itemsize}, the size of {dtype.name}"
            )
        rows.append(np.frombuffer(data, kind).astype(dtype.as_numpy_dtype))
    if len({len(row) for row in rows}) > 1:
        raise InvalidArgumentError(None, None, "DecodeRaw requires input strings to all be the same size")
    return pm.tensor(np.ascontiguousarray(np.array(rows).reshape((*array.shape, -1))))


def decode_csv(
    records: Any, record_defaults: Any, field_delim: str = ",", use_quote_delim: bool = True, na_value: str = "",
    select_cols: Any = None, name: str | None = None,
) -> list[Any]:
    """A tensor for each column of lines of CSV; `record_defaults` say their dtypes, and what is missing."""
    text = convert_to_tensor(records)
    defaults = [convert_to_tensor(each) if not isinstance(each, DType) and not isinstance(each, type) else as_dtype(each) for each in record_defaults]
    dtypes = [each if isinstance(each, DType) else each.dtype for each in defaults]
    missing = [None if isinstance(each, DType) or each.shape.num_elements() == 0 else np.asarray(each.numpy()).ravel()[0] for each in defaults]

    def columns(lines: Any) -> list[Any]:
        array: Any = np.asarray(lines, dtype=object)
        made: list[Any] = [np.empty(array.shape, dtype=object if t == string else t.as_numpy_dtype) for t in dtypes]
        for index in np.ndindex(array.shape):
            fields = _split(array[index], field_delim, use_quote_delim)
            if select_cols is not None:
                fields = [fields[i] for i in select_cols]
            if len(fields) != len(dtypes):
                raise InvalidArgumentError(None, None, f"Expect {len(dtypes)} fields but have {len(fields)} in record")
            for i, field in enumerate(fields):
                made[i][index] = _value(field, dtypes[i], missing[i], na_value, i)
        return made

    if text.is_concrete:
        return [convert_to_tensor(each, dtype) for each, dtype in zip(columns(text._value), dtypes)]
    dims = text._value.shape

    def run(value: Any) -> list[Any]:
        lines = _scalar(value) if isinstance(value, bytes) else np.array(value.tolist(), dtype=object)
        return [_program.host(convert_to_tensor(each, dtype)) for each, dtype in zip(columns(lines), dtypes)]

    return list(_program.call_function(run, [text], [(dtype, dims) for dtype in dtypes], "tf.io.decode_csv"))


def _split(line: bytes, delimiter: str, quotes: bool) -> list[str]:
    text = line.decode(errors="surrogateescape")
    if not quotes:
        return text.rstrip("\r\n").split(delimiter)
    return next(csv.reader([text], delimiter=delimiter, strict=True), [""])


def _value(field: str, dtype: DType, missing: Any, na_value: str, column: int) -> Any:
    if field == "" or field == na_value:
        if missing is None:
            raise InvalidArgumentError(None, None, f"Field {column} is required but missing in record!")
        return missing
    if dtype == string:
        return field.encode(errors="surrogateescape")
    try:
        return float(field) if dtype.is_floating else int(field)
    except ValueError:
        raise InvalidArgumentError(None, None, f"Field {column} in record is not a valid {dtype.name}: {field}") from None


# -- tensors as strings ----------------------------------------------------------------------------

_ENUM = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8, "int64": 9,
    "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23,
}
_BY_ENUM = {number: name for name, number in _ENUM.items()}


@op(name="io.serialize_tensor")
def serialize_tensor(tensor: Any) -> Any:
    """A tensor as a serialized TensorProto."""
    if isinstance(tensor, _program.Symbolic):
        raise TypeError("TensorProtos have no instruction")
    array = np.asarray(numpy_of(raw_tensor(tensor)))
    dtype = as_dtype(array.dtype)
    shape = b"".join(_field(2, _varint(1 << 3) + _varint(n)) for n in array.shape)
    head = _varint(1 << 3) + _varint(_ENUM[dtype.name]) + _field(2, shape)
    if dtype == string:
        body = b"".join(_field(8, each) for each in array.ravel().tolist())
    else:
        body = _field(4, np.ascontiguousarray(array).tobytes()) if array.size else b""
    return _scalar(head + body)


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor of a serialized TensorProto; in Dataset.map its shape is not known: use tf.ensure_shape."""
    text, dtype = convert_to_tensor(serialized), as_dtype(out_type)
    if text.is_concrete:
        return _parsed(text.numpy(), dtype)
    made = _program.call_function(
        lambda value: [_program.host(_parsed(value, dtype))], [text], [(dtype, None)], "tf.io.parse_tensor"
    )
    return made[0]


def _parsed(data: bytes, dtype: DType) -> Tensor:
    kind, shape, content, values, texts = "", [], b"", [], []
    packed = {5: "<f4", 6: "<f8"}
    for number, wire, value in _fields(data):
        if number == 1:
            kind = _BY_ENUM.get(value, "")
        elif number == 2:
            for part, _, dim in _fields(value):
                if part == 2:
                    sizes = [v for n, _, v in _fields(dim) if n == 1]
                    shape.append(sizes[0] if sizes else 0)
        elif number == 4:
            content = value
        elif number == 8:
            texts.append(value)
        elif number in packed and wire == 2:
            values.extend(np.frombuffer(value, packed[number]).tolist())
        elif number in (7, 10, 11) and wire == 2:
            at = 0
            while at < len(value):
                from .._examples import _read_varint, _signed

                each, at = _read_varint(value, at)
                values.append(_signed(each))
        elif number in (5, 6):
            values.append(struct.unpack("<f" if number == 5 else "<d", value)[0])
        elif number in (7, 10, 11):
            values.append(value)
    if kind != dtype.name:
        raise InvalidArgumentError(None, None, f"Type mismatch between parsed tensor ({kind}) and dtype ({dtype.name})")
    if dtype == string:
        made = np.empty(len(texts), dtype=object)
        made[:] = texts
        return convert_to_tensor(made.reshape(shape), string)
    kept = BY_NAME[kind].as_numpy_dtype
    array = np.frombuffer(content, kept) if content or not values else np.array(values, kept)
    count = int(np.prod(shape, dtype=np.int64))
    if len(array) == 1 and count > 1:
        array = np.repeat(array, count)
    return convert_to_tensor(array.reshape(shape).copy(), dtype)


def decode_json_example(*args: Any, **kwargs: Any) -> Any:
    unsupported("tf.io.decode_json_example", way="use json.loads and tf.train.Example")


