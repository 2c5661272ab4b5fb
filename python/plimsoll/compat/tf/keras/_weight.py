"""The variables of layers: tf.Variable, with what Keras keeps beside."""

from __future__ import annotations

from typing import Any

from plimsoll import _core

from .._state import state
from .._tensor import Tensor
from .._variable import Variable
from ._base import calls, cast_to, convert, floatx, unique_name


class Weight(Variable):
    """A variable of a layer, an optimizer or a metric."""

    regularizer: Any = None
    autocast: bool = True
    path: str = ""

    def __init__(self, value: Any, *, name: str, trainable: bool, constraint: Any = None) -> None:
        state.replaying += 1  # also within a v1 graph it is a variable of the program
        try:
            super().__init__(value, trainable=trainable, name=name, constraint=constraint)
        finally:
            state.replaying -= 1
        self.path = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def trainable(self) -> bool:
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        if self._variable is not None:
            self._variable.trainable = bool(value)

    def _as_tensor(self) -> Tensor:
        """Its tensor, in the dtype that the layer around it computes in."""
        found = super()._as_tensor()
        wanted = calls.autocast
        if wanted is None or not self.autocast or found.dtype.name == wanted or not found.dtype.is_floating:
            return found
        before, state.inside = state.inside, False
        try:
            made: Tensor = cast_to(found, wanted)
        finally:
            state.inside = before
        return made

    @property
    def value(self) -> Any:
        """Keras 3 has it as a property, Keras 2 as a method: it is both."""
        return _Value(self._as_tensor()._value)


class KerasVariable(Weight):
    """keras.Variable: a variable of one's own, which is a weight of the layer that has it as an attribute.

    >>> count = tf.keras.Variable(0.0, trainable=False)
    """

    def __init__(
        self, initializer: Any, shape: Any = None, dtype: Any = None, trainable: bool = True,
        autocast: bool = True, aggregation: str = "none", synchronization: str = "auto",
        name: str | None = None, **kwargs: Any,
    ) -> None:
        if kwargs:
            raise TypeError(f"keras.Variable got unexpected arguments {sorted(kwargs)}")
        from . import initializers

        with _core._Eager():
            if isinstance(initializer, str):
                initializer = initializers.get(initializer)
            if callable(initializer) and not hasattr(initializer, "_as_tensor"):
                if shape is None:
                    raise ValueError("When creating a Variable from an initializer, the `shape` argument should "
                                     f"be specified. Received: initializer={initializer} and shape={shape}")
                value = convert(initializer(tuple(shape), dtype=dtype or floatx()), dtype)
            else:
                value = convert(initializer, dtype)
        super().__init__(value, name=name or unique_name("variable"), trainable=trainable)
        self.autocast = autocast


class _Value(Tensor):
    """The value of a weight, which may also be called."""

    __slots__ = ()

    def __call__(self) -> Tensor:
        return Tensor(self._value)
