"""What a layer holds: the layers, metrics, variables and modules that are its attributes, and their weights."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from ..._control import Module
from ..._variable import Variable
from .._config import Configured
from .._weight import Weight
from ._arguments import named

_PLAIN_ATTRIBUTES = ("_tracked", "_own_weights", "_modules", "_states", "_losses", "_metrics", "_arguments")


class Holder(Configured):
    """Layers, metrics and variables that are assigned to a layer belong to it."""

    name: str
    built: bool
    _trainable: bool
    _metrics: list[Any]
    _tracked: list[Any]
    _own_weights: list[Any]
    _modules: list[Any]
    _states: list[Any]
    _arguments: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        object.__setattr__(made, "_tracked", [])
        object.__setattr__(made, "_own_weights", [])
        object.__setattr__(made, "_modules", [])  # tf.Modules
        object.__setattr__(made, "_states", [])  # tf.Variables that are not trained
        object.__setattr__(made, "_arguments", (args, kwargs))
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _PLAIN_ATTRIBUTES:
            self._track(name, value)
        object.__setattr__(self, name, value)

    def _track(self, name: str, value: Any) -> None:
        from ..metrics import Metric

        if isinstance(value, Holder):
            if value is not self and all(each is not value for each in self._tracked):
                self._tracked.append(value)
        elif isinstance(value, Metric):
            if not hasattr(self, "_metrics"):
                raise RuntimeError("call super().__init__() before metrics are assigned")
            if all(each is not value for each in self._metrics):
                self._metrics.append(value)
        elif isinstance(value, (list, tuple)):
            for each in value:
                self._track(name, each)
            if isinstance(value, list) and not name.startswith("_"):
                self._tracked.append(value)  # layers may be appended later
        elif isinstance(value, dict) and not name.startswith("_"):
            for each in value.values():
                self._track(name, each)
        elif isinstance(value, Variable):
            # As in Keras 3, a variable that is not trained is not a weight; checkpoints still save it.
            kept = self._own_weights if value.trainable or isinstance(value, Weight) else self._states
            if all(each is not value for each in kept):
                kept.append(value)
        elif isinstance(value, Module):
            if all(each is not value for each in self._modules):
                self._modules.append(value)

    def __delattr__(self, name: str) -> None:
        value = getattr(self, name, None)
        self._tracked[:] = [each for each in self._tracked if each is not value]
        object.__delattr__(self, name)

    def _children(self) -> Iterator[Any]:
        """Layers directly within, each once, in the order they were assigned."""
        seen: set[int] = set()

        def found(value: Any) -> Iterator[Any]:
            if isinstance(value, Holder):
                if id(value) not in seen:
                    seen.add(id(value))
                    yield value
            elif isinstance(value, (list, tuple)):
                for each in value:
                    yield from found(each)

        yield from found(self._tracked)

    def _flatten_layers(self, include_self: bool = True, recursive: bool = True) -> Iterator[Any]:
        seen: set[int] = set()

        def walk(layer: Any) -> Iterator[Any]:
            if id(layer) in seen:
                return
            seen.add(id(layer))
            yield layer
            for each in layer._children():
                yield from walk(each)

        for each in walk(self):
            if include_self or each is not self:
                yield each

    @property
    def trainable(self) -> bool:
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        for each in self._children():
            each.trainable = value

    def _direct_weights(self) -> list[Any]:
        """Its own weights, and what tf.Modules that are its attributes train; not those of layers within."""
        return [*self._own_weights, *(v for each in self._modules for v in each.trainable_variables)]

    def _checkpoint_variables(self) -> dict[str, Any]:
        """What tf.train.Checkpoint keeps: weights and layers within, by the attributes that hold them or by number."""
        wanted = [*self._direct_weights(), *self._children(), *self._states]
        return named(vars(self), wanted)

    def _all_weights(self) -> Iterator[tuple[Any, bool]]:
        """Each weight once, and whether it is trained."""
        seen: set[int] = set()

        def walk(layer: Any, trains: bool) -> Iterator[tuple[Any, bool]]:
            trains = trains and layer._trainable
            for each in layer._direct_weights():
                if id(each) not in seen:
                    seen.add(id(each))
                    yield each, trains and bool(each.trainable)
            for child in layer._children():
                yield from walk(child, trains)

        yield from walk(self, True)

    @property
    def trainable_weights(self) -> list[Any]:
        return [v for v, trained in self._all_weights() if trained]

    @property
    def non_trainable_weights(self) -> list[Any]:
        return [v for v, trained in self._all_weights() if not trained]

    @property
    def weights(self) -> list[Any]:
        return [v for v, _ in self._all_weights()]

    trainable_variables = property(lambda self: self.trainable_weights)
    non_trainable_variables = property(lambda self: self.non_trainable_weights)
    variables = property(lambda self: self.weights)

    def get_weights(self) -> list[Any]:
        """The values of all weights, as NumPy arrays in TensorFlow's layouts."""
        return [each.numpy() for each in self.weights]

    def set_weights(self, weights: Any) -> None:
        own = self.weights
        if len(own) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on layer '{self.name}' with a weight list of length "
                f"{len(weights)}, but the layer was expecting {len(own)} weights."
            )
        for each, value in zip(own, weights):
            array = np.asarray(value)
            if tuple(array.shape) != tuple(int(n) for n in each.shape):
                raise ValueError(
                    f"Layer {self.name} weight shape {tuple(each.shape)} is not compatible with "
                    f"provided weight shape {tuple(array.shape)}."
                )
            each.assign(array)

    def count_params(self) -> int:
        if not self.built and not self.weights:
            raise ValueError(
                f"You tried to call `count_params` on layer '{self.name}', but the layer isn't built.")
        return sum(int(np.prod([int(n) for n in each.shape])) for each in self.weights)
