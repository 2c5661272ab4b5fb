"""tf.TensorShape: extents, of which some, or all, may be unknown."""

from __future__ import annotations

from typing import Any, Iterator, Sequence


class TensorShape:
    """A shape that may be partly known.

    >>> tf.TensorShape([None, 3]).as_list()
    [None, 3]
    """

    __slots__ = ("_dims",)
    _dims: tuple[int | None, ...] | None

    def __init__(self, dims: Any = None) -> None:
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, (int,)):
            self._dims = (dims,)
        else:
            self._dims = tuple(_extent(each) for each in dims)

    @property
    def rank(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        return self.rank

    @property
    def dims(self) -> list[int | None] | None:
        return None if self._dims is None else list(self._dims)

    def as_list(self) -> list[int | None]:
        return list(self._known())

    def _known(self) -> tuple[int | None, ...]:
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return self._dims

    def is_fully_defined(self) -> bool:
        return self._dims is not None and None not in self._dims

    def num_elements(self) -> int | None:
        if self._dims is None or None in self._dims:
            return None
        count = 1
        for each in self._dims:
            count *= each or 0
        return count

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined.")

    def assert_has_rank(self, rank: int) -> None:
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> TensorShape:
        return self.merge_with(TensorShape([None] * rank))

    def is_compatible_with(self, other: Any) -> bool:
        b = TensorShape(other)._dims
        if self._dims is None or b is None:
            return True
        return len(self._dims) == len(b) and all(
            x is None or y is None or x == y for x, y in zip(self._dims, b)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        made = TensorShape(other)
        self.assert_is_compatible_with(made)
        if self._dims is None:
            return made
        if made._dims is None:
            return self
        return TensorShape([y if x is None else x for x, y in zip(self._dims, made._dims)])

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        b = TensorShape(other)._dims
        if self._dims is None or b is None or len(self._dims) != len(b):
            return TensorShape(None)
        return TensorShape([x if x == y else None for x, y in zip(self._dims, b)])

    def concatenate(self, other: Any) -> TensorShape:
        b = TensorShape(other)._dims
        return TensorShape(None if self._dims is None or b is None else self._dims + b)

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[int | None]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __getitem__(self, key: Any) -> Any:
        if self._dims is None:
            return TensorShape(None) if isinstance(key, slice) else None
        found = self._dims[key]
        return TensorShape(found) if isinstance(key, slice) else found

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == TensorShape(other)._dims
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        comma = "," if len(self._dims) == 1 else ""
        return f"({', '.join(str(each) for each in self._dims)}{comma})"

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"

    def __reduce__(self) -> Any:
        return TensorShape, (None if self._dims is None else list(self._dims),)


def _extent(value: Any) -> int | None:
    if value is None:
        return None
    value = getattr(value, "value", value)  # v1's Dimension
    if value is None:
        return None
    number = int(value)
    if isinstance(value, float) or isinstance(value, str):
        raise TypeError(f"Dimension value must be integer or None, got {value!r}")
    if number < 0:
        raise ValueError(f"Dimension {number} must be >= 0")
    return number


def static_dims(value: Sequence[int | None] | TensorShape | None) -> tuple[int | None, ...] | None:
    return TensorShape(value)._dims
