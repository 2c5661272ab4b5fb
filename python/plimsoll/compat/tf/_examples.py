"""tf.train.Example and its parts: protocol buffers, read and written here."""

from __future__ import annotations

import struct
from typing import Any, Iterator, MutableMapping

import numpy as np


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("Error parsing message: a number is cut off")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _field(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of a message."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value: Any
            value, at = _read_varint(data, at)
        elif wire == 2:
            size, at = _read_varint(data, at)
            if at + size > len(data):
                raise ValueError("Error parsing message: a field exceeds what is there")
            value, at = data[at:at + size], at + size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            if at + size > len(data):
                raise ValueError("Error parsing message: a number is cut off")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"Error parsing message: a field of unknown kind {wire}")
        yield number, wire, value


class _Message:
    """What protocol buffers have in common."""

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        raise NotImplementedError

    def ParseFromString(self, serialized: bytes) -> int:
        raise NotImplementedError

    MergeFromString = ParseFromString

    @classmethod
    def FromString(cls, serialized: bytes) -> Any:
        made = cls()
        made.ParseFromString(serialized)
        return made

    def ByteSize(self) -> int:
        return len(self.SerializeToString())

    def CopyFrom(self, other: Any) -> None:
        self.ParseFromString(other.SerializeToString())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.SerializeToString() == other.SerializeToString()

    def __hash__(self) -> int:
        return hash(self.SerializeToString())

    def __str__(self) -> str:
        return self._text("")

    def __repr__(self) -> str:
        return self._text("")

    def _text(self, indent: str) -> str:
        raise NotImplementedError


class _List(_Message):
    """A list of values of one kind."""

    def __init__(self, value: Any = ()) -> None:
        self.value: list[Any] = [self._checked(each) for each in _items(value)]

    @staticmethod
    def _checked(value: Any) -> Any:
        raise NotImplementedError

    def _text(self, indent: str) -> str:
        return "".join(f"{indent}value: {_shown(each)}\n" for each in self.value)

    def __len__(self) -> int:
        return len(self.value)


def _items(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()
    if hasattr(value, "numpy") and not isinstance(value, (list, tuple)):
        return np.asarray(value.numpy()).ravel().tolist()
    return value


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        text = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:03o}" for b in value)
        return f'"{text}"'
    return f"{value:g}" if isinstance(value, float) else str(value)


class BytesList(_List):
    @staticmethod
    def _checked(value: Any) -> bytes:
        if not isinstance(value, (bytes, bytearray)):
            raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: bytes")
        return bytes(value)

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        return b"".join(_field(1, each) for each in self.value)

    def ParseFromString(self, serialized: bytes) -> int:
        self.value = [value for number, _, value in _fields(serialized) if number == 1]
        return len(serialized)


class FloatList(_List):
    @staticmethod
    def _checked(value: Any) -> float:
        if isinstance(value, (str, bytes)):
            raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: int, float")
        return float(np.float32(value))

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        return _field(1, struct.pack(f"<{len(self.value)}f", *self.value)) if self.value else b""

    def ParseFromString(self, serialized: bytes) -> int:
        self.value = []
        for number, _, value in _fields(serialized):
            if number == 1:
                self.value.extend(struct.unpack(f"<{len(value) // 4}f", value))
        return len(serialized)


class Int64List(_List):
    @staticmethod
    def _checked(value: Any) -> int:
        if isinstance(value, (float, str, bytes, np.floating)):
            raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: int")
        return int(value)

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        return _field(1, b"".join(_varint(each) for each in self.value)) if self.value else b""

    def ParseFromString(self, serialized: bytes) -> int:
        self.value = []
        for number, wire, value in _fields(serialized):
            if number != 1:
                continue
            if wire == 0:
                self.value.append(_signed(value))
            else:
                at = 0
                while at < len(value):
                    each, at = _read_varint(value, at)
                    self.value.append(_signed(each))
        return len(serialized)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


class Feature(_Message):
    """One of bytes_list, float_list, int64_list."""

    _KINDS = (("bytes_list", BytesList), ("float_list", FloatList), ("int64_list", Int64List))

    def __init__(self, bytes_list: Any = None, float_list: Any = None, int64_list: Any = None) -> None:
        self._kind: str | None = None
        self._lists: dict[str, Any] = {}
        for (name, _), given in zip(self._KINDS, (bytes_list, float_list, int64_list)):
            if given is not None:
                self._kind, self._lists = name, {name: given}

    def _list(self, name: str, made: Any) -> Any:
        found = self._lists.get(name)
        if found is None:
            found = self._lists[name] = made()
        return found

    @property
    def bytes_list(self) -> BytesList:
        return self._list("bytes_list", BytesList)  # type: ignore[no-any-return]

    @property
    def float_list(self) -> FloatList:
        return self._list("float_list", FloatList)  # type: ignore[no-any-return]

    @property
    def int64_list(self) -> Int64List:
        return self._list("int64_list", Int64List)  # type: ignore[no-any-return]

    def WhichOneof(self, name: str = "kind") -> str | None:
        if self._kind is None:
            return next((key for key, each in self._lists.items() if each.value), None)
        return self._kind

    def HasField(self, name: str) -> bool:
        return self.WhichOneof() == name

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        kind = self.WhichOneof()
        for i, (name, _) in enumerate(self._KINDS):
            if name == kind:
                return _field(i + 1, self._lists[name].SerializeToString())
        return b""

    def ParseFromString(self, serialized: bytes) -> int:
        self._kind, self._lists = None, {}
        for number, _, value in _fields(serialized):
            if 1 <= number <= 3:
                self._kind, made = self._KINDS[number - 1]
                self._lists = {self._kind: made.FromString(value)}
        return len(serialized)

    def _text(self, indent: str) -> str:
        kind = self.WhichOneof()
        if kind is None:
            return ""
        return f"{indent}{kind} {{\n{self._lists[kind]._text(indent + '  ')}{indent}}}\n"


class _Map(dict[str, Any]):
    """A protocol buffer's map: what is asked for is there."""

    def __init__(self, kind: Any, given: Any = None) -> None:
        super().__init__(given or {})
        self._kind = kind

    def __missing__(self, key: str) -> Any:
        made = self[key] = self._kind()
        return made


def _write_map(entries: MutableMapping[str, Any]) -> bytes:
    return b"".join(
        _field(1, _field(1, key.encode()) + _field(2, entries[key].SerializeToString())) for key in sorted(entries)
    )


def _read_map(serialized: bytes, kind: Any) -> _Map:
    found = _Map(kind)
    for number, _, entry in _fields(serialized):
        if number != 1:
            continue
        key, value = b"", b""
        for part, _, given in _fields(entry):
            key, value = (given, value) if part == 1 else (key, given)
        found[key.decode()] = kind.FromString(value)
    return found


class Features(_Message):
    def __init__(self, feature: Any = None) -> None:
        self.feature = _Map(Feature, feature)

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        return _write_map(self.feature)

    def ParseFromString(self, serialized: bytes) -> int:
        self.feature = _read_map(serialized, Feature)
        return len(serialized)

    def _text(self, indent: str) -> str:
        return "".join(
            f'{indent}feature {{\n{indent}  key: "{key}"\n{indent}  value {{\n{self.feature[key]._text(indent + "    ")}'
            f"{indent}  }}\n{indent}}}\n"
            for key in sorted(self.feature)
        )


class Example(_Message):
    """Named features.

    >>> tf.train.Example(features=tf.train.Features(feature={
    ...     "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))})).SerializeToString()
    """

    def __init__(self, features: Features | None = None) -> None:
        self.features = features if features is not None else Features()

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        return _field(1, self.features.SerializeToString())

    def ParseFromString(self, serialized: bytes) -> int:
        self.features = Features()
        for number, _, value in _fields(serialized):
            if number == 1:
                self.features.ParseFromString(value)
        return len(serialized)

    def _text(self, indent: str) -> str:
        return f"{indent}features {{\n{self.features._text(indent + '  ')}{indent}}}\n"


class FeatureList(_Message):
    def __init__(self, feature: Any = ()) -> None:
        self.feature = list(feature)

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        return b"".join(_field(1, each.SerializeToString()) for each in self.feature)

    def ParseFromString(self, serialized: bytes) -> int:
        self.feature = [Feature.FromString(value) for number, _, value in _fields(serialized) if number == 1]
        return len(serialized)

    def _text(self, indent: str) -> str:
        return "".join(f"{indent}feature {{\n{each._text(indent + '  ')}{indent}}}\n" for each in self.feature)


class FeatureLists(_Message):
    def __init__(self, feature_list: Any = None) -> None:
        self.feature_list = _Map(FeatureList, feature_list)

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        return _write_map(self.feature_list)

    def ParseFromString(self, serialized: bytes) -> int:
        self.feature_list = _read_map(serialized, FeatureList)
        return len(serialized)

    def _text(self, indent: str) -> str:
        return "".join(f'{indent}feature_list {{ key: "{key}" }}\n' for key in sorted(self.feature_list))


class SequenceExample(_Message):
    """Features of a whole sequence, and lists of features of its steps."""

    def __init__(self, context: Features | None = None, feature_lists: FeatureLists | None = None) -> None:
        self.context = context if context is not None else Features()
        self.feature_lists = feature_lists if feature_lists is not None else FeatureLists()

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        return _field(1, self.context.SerializeToString()) + _field(2, self.feature_lists.SerializeToString())

    def ParseFromString(self, serialized: bytes) -> int:
        for number, _, value in _fields(serialized):
            if number == 1:
                self.context.ParseFromString(value)
            elif number == 2:
                self.feature_lists.ParseFromString(value)
        return len(serialized)

    def _text(self, indent: str) -> str:
        return f"{indent}context {{\n{self.context._text(indent + '  ')}{indent}}}\n{self.feature_lists._text(indent)}"
