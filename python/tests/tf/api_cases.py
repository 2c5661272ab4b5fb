"""Random arguments for functions of tf: the same for one name and number, with TensorFlow and here.

A module of cases (cases_*.py) has CASES: names of functions, each with a function of a Draw that gives
(arguments, keywords). Arrays in them become tensors; what a test compares is in api_compare.py.
"""

from __future__ import annotations

import zlib
from typing import Any, Callable

import numpy as np

Arguments = tuple[list[Any], dict[str, Any]]
Case = Callable[["Draw"], Arguments]
COUNT = 200


class Plain:
    """A value that is given as it is, and not as a tensor."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Draw:
    """Draws of one case. RandomState's streams never change."""

    def __init__(self, name: str, number: int) -> None:
        self.number = number
        self._source = np.random.RandomState([zlib.crc32(name.encode()), number])

    def whole(self, low: int, high: int) -> int:
        """low <= x <= high"""
        return int(self._source.randint(low, high + 1))

    def chance(self, share: float) -> bool:
        return bool(self._source.uniform() < share)

    def of(self, *choices: Any) -> Any:
        return choices[self.whole(0, len(choices) - 1)]

    def shape(self, least: int = 0, most: int = 3, extent: int = 4) -> list[int]:
        """Extents of 1 to `extent`; now and then one is 0."""
        dims = [self.whole(1, extent) for _ in range(self.whole(least, most))]
        if dims and self.chance(0.04):
            dims[self.whole(0, len(dims) - 1)] = 0
        return dims

    def full_shape(self, least: int = 0, most: int = 3, extent: int = 4) -> list[int]:
        return [self.whole(1, extent) for _ in range(self.whole(least, most))]

    def floats(self, shape: list[int], low: float = -3, high: float = 3, dtype: str = "float32") -> Any:
        return np.asarray(self._source.uniform(low, high, size=shape)).astype(dtype)

    def ints(self, shape: list[int], low: int = -5, high: int = 5, dtype: str = "int32") -> Any:
        return np.asarray(self._source.randint(low, high + 1, size=shape)).astype(dtype)

    def bools(self, shape: list[int]) -> Any:
        return np.asarray(self._source.randint(0, 2, size=shape)).astype(bool)

    def floating(self) -> str:
        return str(self.of("float32", "float32", "float32", "float64", "float16"))

    def numeric(self) -> str:
        return str(self.of("float32", "float32", "float64", "float16", "int32", "int32", "int64", "uint8", "int8", "int16"))

    def array(self, shape: list[int], dtype: str, low: float = -3, high: float = 3) -> Any:
        if dtype == "bool":
            return self.bools(shape)
        if "int" in dtype:
            return self.ints(shape, 0 if dtype.startswith("u") else int(low), int(high), dtype)
        return self.floats(shape, low, high, dtype)

    def beside(self, shape: list[int]) -> list[int]:
        """A shape that broadcasts with another; now and then one that does not."""
        if self.chance(0.05):
            return [*shape, 5]
        dims = [1 if self.chance(0.3) else each for each in shape]
        return dims[self.whole(0, len(dims)):] if dims and self.chance(0.3) else dims

    def axis(self, rank: int) -> int:
        if self.chance(0.04):
            return rank + self.whole(0, 2)
        return self.whole(-rank, rank - 1) if rank else 0


def arguments(name: str, case: Case, number: int) -> Arguments:
    return case(Draw(name, number))


def prepared(value: Any, tensor: Callable[[Any], Any]) -> Any:
    """Arguments with tensors in the place of arrays."""
    if isinstance(value, Plain):
        return value.value
    if isinstance(value, np.ndarray):
        return tensor(value)
    if isinstance(value, list):
        return [prepared(each, tensor) for each in value]
    if isinstance(value, tuple):
        return tuple(prepared(each, tensor) for each in value)
    return value


def find(tf: Any, name: str) -> Any:
    """tf.a.b of "a.b"; operators are "op +"."""
    if name.startswith("op "):
        import operator

        return getattr(operator, name[3:])
    found = tf
    for part in name.split("."):
        found = getattr(found, part)
    return found


def outputs(value: Any) -> list[Any]:
    """The tensors of a result, as arrays."""
    if isinstance(value, (list, tuple)):
        return [array for each in value for array in outputs(each)]
    if isinstance(value, dict):
        return [array for key in sorted(value) for array in outputs(value[key])]
    if hasattr(value, "numpy"):
        return [np.asarray(value.numpy())]
    return [np.asarray(value)]


def kind_of(error: BaseException) -> str:
    """The kind of an error: what a script would catch."""
    names = {each.__name__ for each in type(error).__mro__}
    for name in ("InvalidArgumentError", "UnimplementedError", "NotFoundError", "OpError", "TypeError", "IndexError", "ValueError"):
        if name in names:
            return name
    return type(error).__name__


def outcome(tf: Any, name: str, case: Case, number: int) -> tuple[str, list[Any]]:
    """("ok", arrays) or (kind of error, [])."""
    args, kwargs = arguments(name, case, number)
    try:
        function = find(tf, name)
        made = [prepared(each, tf.constant) for each in args]
        found = function(*made, **{key: prepared(each, tf.constant) for key, each in kwargs.items()})
        return "ok", outputs(found)
    except Exception as error:  # every kind of error is an outcome
        return kind_of(error), []
