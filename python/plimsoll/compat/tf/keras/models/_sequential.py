"""Sequential: one layer after the other."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .._base import static_shape
from ..layers._input import Input, InputLayer
from ..layers._layer import Layer
from ._graph import CallGraph
from ._model import Model


class Sequential(Model):
    """Layers in a row.

    >>> model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
    """

    _row: list[Any]
    _start: Any
    _declared: bool

    def __init__(self, layers: Any = None, trainable: bool = True, name: str | None = None) -> None:
        Model.__init__(self, name=name, trainable=trainable)
        object.__setattr__(self, "_row", [])
        object.__setattr__(self, "_start", None)
        object.__setattr__(self, "_declared", True)  # what comes in: by an Input, not by the first batch
        for each in layers or ():
            self._append(each)
        self._rebuild()

    def _append(self, layer: Any) -> None:
        history = getattr(layer, "_keras_history", None)
        if history is not None and isinstance(history[0], InputLayer):
            layer = history[0]
        if not isinstance(layer, Layer):
            if callable(layer) and not isinstance(layer, type):
                from ..layers import Lambda

                layer = Lambda(layer)
            else:
                raise ValueError("Only instances of `keras.Layer` can be added to a Sequential model. "
                                 f"Received: {layer} (of type {type(layer)})")
        if isinstance(layer, InputLayer):
            if self._row or self._start is not None:
                raise ValueError(f"Sequential model '{self.name}' has already been configured to use an input")
            object.__setattr__(self, "_start", layer)
            return
        if any(each.name == layer.name for each in self._row):
            raise ValueError("All layers added to a Sequential model should have unique names. Name "
                             f"'{layer.name}' is already the name of a layer in this model.")
        if self._start is None and not self._row and layer._given_input_shape is not None:
            dtype = "int32" if type(layer).__name__ == "Embedding" else layer.compute_dtype
            object.__setattr__(self, "_start", InputLayer(layer._given_input_shape, dtype=dtype))
        self._row.append(layer)
        self._tracked.append(layer)

    def add(self, layer: Any, rebuild: bool = True) -> None:
        self._append(layer)
        self._rebuild()

    def pop(self, rebuild: bool = True) -> Any:
        layer = self._row.pop()
        self._tracked[:] = [each for each in self._tracked if each is not layer]
        object.__setattr__(self, "_graph", None)
        object.__setattr__(self, "_has_weights", False)
        self.built = False
        self._steps.clear()
        self._rebuild()
        return layer

    def _rebuild(self) -> None:
        """The graph, where it is known what comes in."""
        if self._start is None:
            first = self._row[0] if self._row else None
            inside = getattr(first, "_graph", None)
            if inside is None or len(inside.flat_inputs) != 1:
                return
            symbol = inside.flat_inputs[0]
            object.__setattr__(self, "_start", InputLayer(batch_shape=tuple(symbol.shape),
                                                          dtype=symbol.dtype.name))
        if not self._row:
            return
        x = first_tensor = self._start.output
        for each in self._row:
            x = each(x)
        object.__setattr__(self, "_graph", CallGraph(first_tensor, x))
        self._steps.clear()
        self.built = True

    @property
    def layers(self) -> list[Any]:
        return list(self._row)

    @layers.setter
    def layers(self, value: Any) -> None:
        raise AttributeError("`Sequential.layers` is reserved; use add() and pop()")

    def build(self, input_shape: Any = None) -> None:
        if self._graph is None and input_shape is not None:
            self._begin(tuple(input_shape), None)

    def _begin(self, shape: tuple[Any, ...], dtype: Any) -> None:
        start = Input(batch_shape=(None, *shape[1:]), dtype=dtype)
        object.__setattr__(self, "_start", start._keras_history[0])
        self._rebuild()

    def _build(self, args: Any, kwargs: Any) -> None:
        """The graph for what comes in: any batch of it."""
        given = args[0] if args else next(iter(kwargs.values()), None)
        if self._row and isinstance(given, Tensor):
            self._begin(static_shape(given), given.dtype.name)
            object.__setattr__(self, "_declared", False)
        self.built = True

    def _like_the_first(self, inputs: Any) -> bool:
        """Whether inputs have the extents of those that the graph was made for, the batch aside. Others go
        through the layers one by one: nothing was declared about them."""
        wanted = self._start.output.shape
        shape = getattr(inputs, "shape", None)
        return shape is None or len(shape) != len(wanted) or wanted.is_compatible_with(shape)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        if self._graph is not None and (self._declared or self._like_the_first(inputs)):
            return self._graph.run(self._arranged(inputs))
        x = inputs
        for each in self._row:
            x = each(x)
        return x

    def get_config(self) -> dict[str, Any]:
        layers = [each.serialized() for each in ([self._start] if self._start is not None else []) + self._row]
        return {"name": self.name, "trainable": self.trainable, "layers": layers}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        from ..layers._registry import deserialize

        made = cls(name=config.get("name"))
        for each in config["layers"]:
            made._append(deserialize(each, custom_objects))
        made._rebuild()
        return made
