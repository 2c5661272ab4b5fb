"""Arguments and results of functions: tensors in tuples, lists, dicts and dataclasses, beside other values."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, NamedTuple

from . import _core
from ._core import Gradients, Tensor, Variable

HOLE = object()
"""Stands for a tensor in a structure."""


class Static:
    """A value that is not a tensor, as a part of a signature. True, 1 and 1.0 differ, and so do 0.0 and -0.0."""

    __slots__ = ("value", "_key")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key: Any = (type(value), repr(value)) if isinstance(value, (float, complex)) else (type(value), value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and (self.value is other.value or self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)


class _Variables:
    """The variables of Gradients: the same ones are equal."""

    __slots__ = ("of",)

    def __init__(self, of: list[Variable]) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Variables) and _core._same_variables(self.of, other.of)

    def __hash__(self) -> int:
        return hash(tuple(each.name for each in self.of))


class Node(NamedTuple):
    """Something with parts. `keys` are those of a dict or the fields of a dataclass."""

    kind: Any
    keys: Any
    parts: tuple[Any, ...]


def flatten(value: Any, tensors: list[Any]) -> Any:
    """The structure of `value`, whose tensors go to the list. Hashable if its other values are."""
    if isinstance(value, (Tensor, Variable)):
        tensors.append(value)
        return HOLE
    if isinstance(value, (list, tuple)):
        kind = type(value) if isinstance(value, tuple) else list
        return Node(kind, None, tuple(flatten(each, tensors) for each in value))
    if isinstance(value, dict):
        return Node(dict, tuple(value), tuple(flatten(each, tensors) for each in value.values()))
    if isinstance(value, Gradients):
        parts = tuple(Static(None) if each is None else flatten(each, tensors) for each in value.tensors)
        return Node(Gradients, _Variables(list(value.variables)), parts)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = tuple(each.name for each in dataclasses.fields(value))
        return Node(type(value), fields, tuple(flatten(getattr(value, name), tensors) for name in fields))
    return Static(value)


def unflatten(structure: Any, tensors: Iterator[Any]) -> Any:
    """What flatten() took apart, with these tensors."""
    if structure is HOLE:
        return next(tensors)
    if isinstance(structure, Static):
        return structure.value
    kind, keys, _ = structure
    parts = [unflatten(each, tensors) for each in structure.parts]
    if kind is list:
        return parts
    if kind is dict:
        return dict(zip(keys, parts))
    if kind is Gradients:
        return Gradients(keys.of, parts)
    if keys is None:
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    made = object.__new__(kind)
    for name, each in zip(keys, parts):
        object.__setattr__(made, name, each)
    return made


def differences(now: Any, before: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """(where, now, before) of the values that are not tensors and differ; `where` are places and keys."""
    if isinstance(now, Node) and isinstance(before, Node) and now[:2] == before[:2] and len(now.parts) == len(before.parts):
        keys = now.keys if isinstance(now.keys, tuple) else range(len(now.parts))
        for key, one, other in zip(keys, now.parts, before.parts):
            yield from differences(one, other, (*where, key))
    elif now is not before and now != before:
        yield where, now, before


def statics(structure: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """(where, value) of all values that are not tensors."""
    if isinstance(structure, Static):
        yield where, structure.value
    elif isinstance(structure, Node):
        keys = structure.keys if isinstance(structure.keys, tuple) else range(len(structure.parts))
        for key, each in zip(keys, structure.parts):
            yield from statics(each, (*where, key))
