"""tf.nest: structures of lists, tuples and dictionaries."""

from __future__ import annotations

from typing import Any, Callable


def is_nested(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict))


def map_structure(f: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """`f` of all leaves, in the structure of the first."""
    first = values[0]
    if isinstance(first, dict):
        for each in values[1:]:
            if not isinstance(each, dict) or set(each) != set(first):
                raise ValueError("The two structures don't have the same nested structure.")
        return type(first)((key, map_structure(f, *(each[key] for each in values))) for key in first)
    if isinstance(first, (list, tuple)):
        for each in values[1:]:
            if not isinstance(each, (list, tuple)) or len(each) != len(first):
                raise ValueError("The two structures don't have the same nested structure.")
        made = [map_structure(f, *parts) for parts in zip(*values)]
        if hasattr(first, "_fields"):
            return type(first)(*made)
        return made if isinstance(first, list) else tuple(made)
    return f(*values)


def flatten(value: Any, expand_composites: bool = False) -> list[Any]:
    """All leaves in order; dictionaries by sorted keys."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flatten(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in flatten(each)]
    return [value]


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """The leaves in the structure of another."""
    left = list(flat_sequence)
    count = len(flatten(structure))
    if count != len(left):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} atoms, but flat_sequence had {len(left)}"
        )
    return _pack(structure, left)


def _pack(structure: Any, left: list[Any]) -> Any:
    if isinstance(structure, dict):
        made = {key: _pack(structure[key], left) for key in sorted(structure)}
        return type(structure)((key, made[key]) for key in structure)
    if isinstance(structure, (list, tuple)):
        parts = [_pack(each, left) for each in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*parts)
        return parts if isinstance(structure, list) else tuple(parts)
    return left.pop(0)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, **_: Any) -> None:
    """Raises ValueError where two structures differ, TypeError where their types do."""
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError("The two structures don't have the same nested structure.")
    if not is_nested(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise TypeError("The two structures don't have the same sequence type.")
    if len(nest1) != len(nest2):
        raise ValueError("The two structures don't have the same number of elements.")
    if isinstance(nest1, dict):
        for key in nest1:
            if key not in nest2:
                raise ValueError("The two dictionaries don't have the same set of keys.")
            assert_same_structure(nest1[key], nest2[key], check_types)
    else:
        for a, b in zip(nest1, nest2):
            assert_same_structure(a, b, check_types)
