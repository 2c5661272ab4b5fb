"""Model: functional, or with a call() of one's own."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from plimsoll import _core

from ... import _nest
from ..._symbolic import symbolic_input
from ..._tensor import Tensor
from .._base import convert, static_shape
from ..layers._input import InputLayer
from ..layers._layer import Layer
from ._graph import CallGraph
from ._saving import Saving
from ._summary import summarize
from ._training import Training


class Model(Training, Saving, Layer):
    """Layers that are trained together.

    >>> x = tf.keras.Input((4,))
    >>> model = tf.keras.Model(x, tf.keras.layers.Dense(1)(x))
    """

    _graph: CallGraph | None = None

    def __init__(
        self, inputs: Any = None, outputs: Any = None, *args: Any, name: str | None = None,
        trainable: bool = True, dtype: Any = None, **kwargs: Any,
    ) -> None:
        if inputs is not None and outputs is None and not args and isinstance(inputs, str):
            inputs, name = None, inputs
        if name is None and type(self) is Model and inputs is not None:
            from .._base import unique_name

            name = unique_name("functional")
        Layer.__init__(self, name=name, trainable=trainable, dtype=dtype, **kwargs)
        self._training_init()
        if inputs is not None:
            if outputs is None:
                raise ValueError("A functional Model takes inputs and outputs")
            self._use_graph(CallGraph(inputs, outputs))

    def _use_graph(self, graph: CallGraph) -> None:
        object.__setattr__(self, "_graph", graph)
        self._tracked[:] = [each for each in graph.layers if not isinstance(each, InputLayer)]
        self.built = True
        for each in self._tracked:
            if not self._trainable:
                each.trainable = False

    # What it is made of.

    @property
    def layers(self) -> list[Any]:
        if self._graph is not None:
            return list(self._graph.layers)
        return list(self._children())

    @layers.setter
    def layers(self, value: Any) -> None:
        raise AttributeError("`Model.layers` attribute is reserved and should not be used.")

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        if index is not None:
            if name is not None:
                raise ValueError(f"Provide only a layer name or a layer index. Received: index={index}, "
                                 f"name={name}.")
            return self.layers[index]
        for each in self.layers:
            if each.name == name:
                return each
        raise ValueError(f"No such layer: {name}. Existing layers are: {[each.name for each in self.layers]}.")

    @property
    def inputs(self) -> Any:
        return None if self._graph is None else list(self._graph.flat_inputs)

    @property
    def outputs(self) -> Any:
        return None if self._graph is None else list(self._graph.flat_outputs)

    @property
    def input(self) -> Any:
        return self._need_graph().inputs

    @property
    def output(self) -> Any:
        return self._need_graph().outputs

    def _need_graph(self) -> CallGraph:
        if self._graph is None:
            raise AttributeError(f"The model {self.name} has never been called and thus has no defined "
                                 "input and output: it is not a functional model.")
        return self._graph

    @property
    def input_shape(self) -> Any:
        return static_shape(self._need_graph().inputs)

    @property
    def output_shape(self) -> Any:
        return static_shape(self._need_graph().outputs)

    @property
    def input_names(self) -> list[str]:
        return [each._value.node.name.split(":")[0] if getattr(each._value.node, "layer", None) is None
                else each._value.node.layer.name for each in self._need_graph().flat_inputs]

    @property
    def output_names(self) -> list[str]:
        if self._graph is None:
            return []
        found: list[str] = []
        for each in self._graph.flat_outputs:
            layer = getattr(each._value.node, "layer", None)
            base = layer.name if layer is not None else each._value.node.name
            name, count = base, 1
            while name in found:
                name, count = f"{base}_{count}", count + 1
            found.append(name)
        return found

    # Calling it.

    def build(self, input_shape: Any = None) -> None:
        """Makes the weights, for inputs of these shapes."""
        if self._graph is not None or self.built:
            return
        if input_shape is None or type(self).call is Model.call:
            self.built = True
            return
        if self._building:
            return
        object.__setattr__(self, "_building", True)
        try:
            self(_symbols(input_shape))
        finally:
            object.__setattr__(self, "_building", False)
        self.built = True

    _building = False

    def _build(self, args: Any, kwargs: Any) -> None:
        if self._graph is not None or type(self).build is Model.build:
            self.built = True  # its layers are built as they are called
            return
        super()._build(args, kwargs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        if self._graph is None:
            raise NotImplementedError(
                f"Model {type(self).__name__} does not have a `call()` method implemented.")
        return self._graph.run(self._arranged(inputs))

    def _arranged(self, inputs: Any) -> list[Any]:
        """The values of the inputs, in the graph's order."""
        assert self._graph is not None
        if isinstance(inputs, dict):
            if isinstance(self._graph.inputs, dict):
                flat = [inputs[key] for key in sorted(self._graph.inputs)]
            else:
                missing = [name for name in self.input_names if name not in inputs]
                if missing:
                    raise ValueError(f"Missing data for input {missing}; the model has {self.input_names}")
                flat = [inputs[name] for name in self.input_names]
        else:
            flat = _nest.flatten(inputs)
        if len(flat) != len(self._graph.flat_inputs):
            raise ValueError(f"Layer \"{self.name}\" expects {len(self._graph.flat_inputs)} input(s), but it "
                             f"received {len(flat)} input tensors.")
        return [_fitted(value, symbol) for value, symbol in zip(flat, self._graph.flat_inputs)]

    def _make_weights(self, x: Any) -> None:
        """Runs it on shapes, so that all layers are built, if that has not been done."""
        if self.__dict__.get("_has_weights"):
            return
        if self._graph is None and any(isinstance(t, Tensor) and isinstance(t._value, np.ndarray)
                                       for t in _nest.flatten(x)):
            self(x)  # strings are not traced
        elif self._graph is None:
            with _core._Eager():
                symbols = _nest.map_structure(
                    lambda t: symbolic_input((None, *t.shape[1:]), t.dtype) if isinstance(t, Tensor) else t, x)
            try:
                self(symbols)
            except NotImplementedError:
                raise
            except (TypeError, ValueError):
                # What cannot be run on an unknown batch is run on this one.
                symbols = _nest.map_structure(
                    lambda t: symbolic_input(tuple(t.shape), t.dtype) if isinstance(t, Tensor) else t, x)
                self(symbols)
        object.__setattr__(self, "_has_weights", True)
        object.__setattr__(self, "_first_shapes", _any_batch(static_shape(x)))

    def summary(
        self, line_length: int | None = None, positions: Any = None, print_fn: Any = None,
        expand_nested: bool = False, show_trainable: bool = False, layer_range: Any = None,
    ) -> None:
        """Prints the layers with the shapes of their results and their weights."""
        summarize(self, line_length, print_fn, expand_nested, show_trainable)

    # Configuration.

    def get_config(self) -> dict[str, Any]:
        if self._graph is not None and type(self) in (Model, Functional):
            from ._config_graph import graph_config

            return graph_config(self)
        return super().get_config()

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        if set(config) >= {"layers", "input_layers", "output_layers"}:
            from .._config import CustomObjectScope
            from ._config_graph import graph_from_config

            with CustomObjectScope(custom_objects or {}):
                return graph_from_config(cls, config)
        return super().from_config(config)

    def serialized(self) -> dict[str, Any]:
        found = super().serialized()
        if self._graph is not None and type(self) is Model:
            found["class_name"] = "Functional"
        return found

    def to_json(self, **kwargs: Any) -> str:
        import json

        return json.dumps(self.serialized(), **kwargs)

    def export(self, filepath: str, **kwargs: Any) -> None:
        raise NotImplementedError("Model.export writes TensorFlow's SavedModel, which is not supported; use "
                                  "model.save(\"model.keras\")")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}, built={self.built}>"


def _fitted(value: Any, symbol: Any) -> Any:
    """An input as the symbol says: its rank, and integers where floats are wanted."""
    if not isinstance(value, Tensor):
        value = convert(value)
    if value.dtype.name == "string" and symbol.dtype.name != "string":
        raise ValueError(f"the model takes {symbol.dtype.name} and was given strings; turn them into numbers with "
                         "keras.layers.StringLookup or keras.layers.TextVectorization")
    wanted, given = symbol.shape, value.shape
    if wanted.rank is not None and given.rank is not None and wanted.rank != given.rank:
        from ..._arrays import expand_dims, squeeze

        mask = getattr(value, "_keras_mask", None)
        if given.rank == wanted.rank - 1 and wanted[-1] in (1, None):
            value = expand_dims(value, -1)
        elif given.rank == wanted.rank + 1 and given[-1] == 1:
            value = squeeze(value, -1)
        if mask is not None:
            value._keras_mask = mask
    if wanted.rank is not None and value.shape.rank is not None:
        if not wanted.is_compatible_with(value.shape):
            raise ValueError(
                f"Input with shape {value.shape} is incompatible with the model: expected shape={wanted}"
                + ("; a dataset of single elements needs .batch(32), one example x[None]"
                   if value.shape.rank == wanted.rank - 1 else ""))
    return value if value.dtype == symbol.dtype or not symbol.dtype.is_floating else convert(
        value, symbol.dtype)


def _any_batch(shape: Any) -> Any:
    """Shapes of inputs, whatever the batch."""
    if isinstance(shape, dict):
        return {key: _any_batch(each) for key, each in shape.items()}
    if isinstance(shape, list):
        return [_any_batch(each) for each in shape]
    return [None, *shape[1:]]


def _symbols(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {key: _symbols(each) for key, each in shape.items()}
    if isinstance(shape, (list, tuple)) and shape and isinstance(shape[0], (list, tuple)):
        return [_symbols(each) for each in shape]
    return symbolic_input(tuple(shape), "float32")


class Functional(Model):
    """A functional model, by the name that configurations have."""


def takes(f: Any, name: str) -> bool:
    return name in inspect.signature(f).parameters
