"""The operators of tensors and variables."""

from __future__ import annotations

from typing import Any


class Operators:
    """What Python's operators do with a tensor or a variable."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary("_radd", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("truediv", other, self)

    __div__ = __truediv__

    def __floordiv__(self, other: Any) -> Any:
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return _binary("floormod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _binary("floormod", other, self)

    def __pow__(self, other: Any) -> Any:
        return _binary("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _binary("pow", other, self)

    def __matmul__(self, other: Any) -> Any:
        return _binary("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _binary("matmul", other, self)

    def __and__(self, other: Any) -> Any:
        return _binary("_and", self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return _binary("_or", self, other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return _binary("_xor", self, other)

    __rxor__ = __xor__

    def __lt__(self, other: Any) -> Any:
        return _binary("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _binary("greater_equal", self, other)

    def __eq__(self, other: Any) -> Any:
        return _binary("_equals", self, other)

    def __ne__(self, other: Any) -> Any:
        return _binary("_differs", self, other)

    def __neg__(self) -> Any:
        return _unary("negative", self)

    def __abs__(self) -> Any:
        return _unary("abs", self)

    def __invert__(self) -> Any:
        return _unary("_invert", self)


def _binary(name: str, a: Any, b: Any) -> Any:
    from . import _operators

    return getattr(_operators, name)(a, b)


def _unary(name: str, x: Any) -> Any:
    from . import _operators

    return getattr(_operators, name)(x)
