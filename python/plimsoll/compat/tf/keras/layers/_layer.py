"""The base of all layers."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from plimsoll import _core

from ... import _nest
from ..._autograph import retraced
from ..._config import current_device
from ..._state import recording
from ..._symbolic import Node, record
from ..._tensor import Tensor
from ..._variable import announce
from .. import initializers, mixed_precision, regularizers
from .._base import (
    calls, cast_to, convert, is_symbolic, static_shape, unique_name, variable,
)
from .._utilities import check_inputs
from .._config import fitting, similar, snake_case, with_defaults
from ._arguments import another, inputs_of, mask_of, plain, revived, tensors
from ._holder import Holder

_FLOATING = ("float16", "float32", "float64", "bfloat16")


class LayerNode(Node):
    """A recorded call of a layer. When a model calls it again, the model's `training` counts, as in
    Keras 3, also where the call named another."""

    layer: Any = None

    def evaluate(self, replay: Any) -> list[Any]:
        args, kwargs = replay.substitute((self.args, self.kwargs))
        names, _ = self.layer._call_names()
        if calls.training is not None and "training" in names and "training" not in names[: len(args)]:
            kwargs = {**kwargs, "training": calls.training}
        return _nest.flatten(self.layer._again(*args, **kwargs))


class Layer(Holder):
    """Weights and what is computed with them. One of one's own has build(input_shape) and
    call(inputs).

    >>> class Scale(tf.keras.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.w = self.add_weight(shape=(input_shape[-1],), initializer="ones")
    ...     def call(self, inputs):
    ...         return inputs * self.w
    """

    supports_masking = False
    input_spec: Any
    def __init__(
        self, *, activity_regularizer: Any = None, trainable: bool = True, dtype: Any = None,
        autocast: bool = True, name: str | None = None, input_shape: Any = None,
        batch_input_shape: Any = None, input_dim: int | None = None, weights: Any = None,
        dynamic: Any = None, **kwargs: Any,
    ) -> None:
        if kwargs:
            raise ValueError(f"Unrecognized keyword arguments passed to {type(self).__name__}: {kwargs}"
                             + similar(next(iter(kwargs)), with_defaults(type(self), Layer, {})))
        self._trainable = bool(trainable)
        self.name = name or unique_name(snake_case(type(self).__name__))
        self.dtype_policy = mixed_precision.policy_of(dtype)
        self.autocast = autocast
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.built = False
        self._losses: list[Any] = []
        self._metrics: list[Any] = []
        self._initial_weights = weights
        if input_dim is not None:
            input_shape = (input_dim,)
        if batch_input_shape is not None:
            input_shape = tuple(batch_input_shape)[1:]
        self._given_input_shape = None if input_shape is None else tuple(
            [input_shape] if isinstance(input_shape, int) else input_shape)

    # Weights.

    @property
    def dtype(self) -> str:
        return self.dtype_policy.variable_dtype

    variable_dtype = dtype

    @property
    def compute_dtype(self) -> str:
        return self.dtype_policy.compute_dtype

    def add_weight(
        self, shape: Any = None, initializer: Any = None, dtype: Any = None, trainable: bool = True,
        autocast: bool = True, regularizer: Any = None, constraint: Any = None, aggregation: Any = None,
        overwrite_with_gradient: bool = False, name: str | None = None, **kwargs: Any,
    ) -> Any:
        """A variable of the layer, with a first value."""
        if isinstance(shape, str):  # Keras 2 had the name first
            name, shape = shape, kwargs.pop("shape", initializer if initializer is not None else ())
            initializer = None if initializer is shape else initializer
        for each in ("use_resource", "synchronization", "experimental_autocast", "collections"):
            kwargs.pop(each, None)
        if kwargs:
            raise TypeError(f"add_weight() got unexpected arguments {sorted(kwargs)}")
        shape = () if shape is None else ((shape,) if isinstance(shape, int) else tuple(shape))
        if any(n is None for n in shape):
            raise ValueError(f"add_weight(shape={shape}): all extents must be known")
        dtype = dtype or self.variable_dtype
        if initializer is None:
            floating = str(getattr(dtype, "name", dtype)) in _FLOATING
            initializer = "glorot_uniform" if floating else "zeros"
        first = initializers.get(initializer)
        assert first is not None
        with _core._Eager():
            current_device()  # what is free is found before arrays are drawn, which go again
            array = getattr(first, "array", None)
            shape = tuple(int(n) for n in shape)
            value = array(shape) if array is not None else convert(first(shape, dtype=dtype))
        from .. import constraints

        made = variable(value, name=name or "variable", trainable=trainable, dtype=dtype,
                        constraint=constraints.get(constraint))
        made.regularizer = regularizers.get(regularizer)
        made.autocast = autocast
        made.path = f"{self.name}/{made.name}"
        self._own_weights.append(made)
        return made

    add_variable = add_weight

    # Losses and metrics.

    def add_loss(self, loss: Any) -> None:
        for each in _nest.flatten(loss):
            if callable(each) and not isinstance(each, Tensor):
                each = each()
            self._losses.append(each)

    def add_metric(self, value: Any, name: str | None = None, aggregation: Any = None) -> None:
        """The mean of a value over the batches, as a metric of the layer."""
        from ..metrics import Mean, Metric

        metric = next((each for each in self._metrics if each.name == name), None)
        if isinstance(value, Metric):
            self._track("", value)
            return
        if metric is None:
            metric = Mean(name=name)
            self._metrics.append(metric)
        metric.update_state(value)

    @property
    def losses(self) -> list[Any]:
        """What add_loss() was given in the last call, and the penalties on weights."""
        found = []
        for each in self._flatten_layers():
            found.extend(each._losses)
        return found + self._penalties()

    def _penalties(self) -> list[Any]:
        found = []
        for each in self.trainable_weights:
            penalty = getattr(each, "regularizer", None)
            if penalty is not None:
                found.append(penalty(each))
        return found

    def _clear_losses(self) -> None:
        for each in self._flatten_layers():
            each._losses = []

    @property
    def metrics(self) -> list[Any]:
        return [m for each in self._flatten_layers() for m in each._metrics]

    # Calling it.

    def build(self, input_shape: Any) -> None:
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Layer {type(self).__name__} does not have a `call()` method implemented.")

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        return previous_mask

    def compute_output_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shape of the result, found by running the layer on shapes."""
        shape = args[0] if args else next(iter(kwargs.values()))
        made = inputs_of(shape, self.compute_dtype)
        return static_shape(self(made))

    def _call_names(self) -> tuple[list[str], bool]:
        known = self.__dict__.get("_call_signature")
        if known is None:
            parameters = inspect.signature(self.call).parameters
            named = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
            takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
            known = (named, takes_any)
            object.__setattr__(self, "_call_signature", known)
        return known

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "dtype_policy" not in self.__dict__:
            raise RuntimeError(f"In layer '{type(self).__name__}', you forgot to call `super().__init__()` as the first "
                               "statement in the `__init__()` method.")
        args, kwargs = tensors(args), tensors(kwargs)
        if "input_spec" in self.__dict__:
            check_inputs(self.input_spec, args, self.name)
        if not self.built:
            self._build(args, kwargs)
        if is_symbolic((args, kwargs)) or recording() is not None:
            node = LayerNode(self._again, args, kwargs, self.name)
            node.layer = self
            object.__setattr__(self, "_last_node", node)
            result = retraced(lambda: record(self._again, args, kwargs, self.name, node))
            for each in _nest.flatten(result):
                if isinstance(each, Tensor):
                    each._keras_history = (self, node)
            return result
        return self._run(*args, **kwargs)

    def _again(self, *args: Any, **kwargs: Any) -> Any:
        """A call that was recorded. A layer that takes masks off its inputs does not take them from others."""
        return self._run(*another(args), **another(kwargs))

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """The call on values, or into a trace."""
        names, _ = self._call_names()
        training = kwargs.get("training")
        if training is None and "training" in names[: len(args)]:
            training = args[names.index("training")]
        before = (calls.training, calls.autocast)
        if calls.depth == 0:
            self._clear_losses()
        if training is None:
            training = calls.training
        elif isinstance(training, Tensor):
            training = bool(training)
        if "training" in names:
            if "training" not in names[: len(args)] and training is not None:
                kwargs["training"] = training
        else:
            kwargs.pop("training", None)
        if self.autocast:
            args, kwargs = self._autocast(args), self._autocast(kwargs)
        first = args[0] if args else kwargs.get(names[0]) if names else None
        mask = mask_of(first)
        if mask is not None and "mask" in names and kwargs.get("mask") is None and (
            "mask" not in names[: len(args)]
        ):
            kwargs["mask"] = mask
        calls.training = training
        calls.autocast = self.compute_dtype if self.autocast else None
        calls.depth += 1
        try:
            result = self.call(*args, **kwargs)
            if self.activity_regularizer is not None:
                self._regularize(result)
        finally:
            calls.depth -= 1
            calls.training, calls.autocast = before
        if mask is None and not type(self).compute_mask is not Layer.compute_mask:
            return result
        return self._masked(result, first, mask)

    def _masked(self, result: Any, inputs: Any, mask: Any) -> Any:
        """Puts the mask of the result on it; of several results, on the first, or on each its own."""
        results = [result] if isinstance(result, Tensor) else result
        if not isinstance(results, (list, tuple)) or not all(isinstance(each, Tensor) for each in results):
            return result
        if type(self).compute_mask is not Layer.compute_mask:
            found = self.compute_mask(inputs, mask)
        elif self.supports_masking:
            found = mask
        else:
            found = None
        made = list(results)
        for i, one in enumerate(found if isinstance(found, (list, tuple)) else [found]):
            if one is None or i >= len(made):
                continue
            if any(made[i] is each for each in _nest.flatten(inputs)):
                made[i] = Tensor(made[i]._value)
            made[i]._keras_mask = one
        return made[0] if isinstance(result, Tensor) else type(result)(made)

    def _regularize(self, result: Any) -> None:
        for each in _nest.flatten(result):
            batch = each.shape[0] or 1
            self.add_loss(self.activity_regularizer(each) * (1.0 / float(batch)))

    def _autocast(self, values: Any) -> Any:
        wanted = self.compute_dtype

        def leaf(x: Any) -> Any:
            if isinstance(x, Tensor) and x.dtype.is_floating and x.dtype.name != wanted:
                made = cast_to(x, wanted)
                mask = getattr(x, "_keras_mask", None)
                if mask is not None:
                    made._keras_mask = mask
                return made
            return x

        return _nest.map_structure(leaf, values)

    def _build(self, args: Any, kwargs: Any) -> None:
        """Makes the weights for inputs as these are."""
        with _core._Eager():
            parameters = [n for n in inspect.signature(self.build).parameters]
            shapes = [static_shape(each) for each in args]
            if not args and kwargs:
                shapes = [static_shape(next(iter(kwargs.values())))]
            if len(parameters) <= 1 or parameters == ["args", "kwargs"]:
                self.build(*(shapes[:1] if parameters else []))
            else:
                names, _ = self._call_names()
                given = dict(zip(names, shapes))
                given.update({n: static_shape(v) for n, v in kwargs.items() if isinstance(v, Tensor)})
                wanted = {n: given[n[:-6]] for n in parameters if n.endswith("_shape") and n[:-6] in given}
                if wanted:
                    self.build(**wanted)
                else:
                    self.build(shapes[0])
            self.built = True
            if self._initial_weights is not None:
                self.set_weights(self._initial_weights)
        announce()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}, built={self.built}>"

    # Configuration.

    def get_config(self) -> dict[str, Any]:
        """The arguments that it was made with, as far as they can be written down."""
        found: dict[str, Any] = {"name": self.name, "trainable": self._trainable,
                                 "dtype": self.dtype_policy.name}
        args, kwargs = self._arguments
        parameters = list(inspect.signature(type(self).__init__).parameters)[1:]
        given = with_defaults(type(self), Layer, {**dict(zip(parameters, args)), **kwargs})
        for name, value in given.items():
            if name in ("name", "trainable", "dtype"):
                continue
            found[name] = plain(value, type(self).__name__, name)
        return found

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = {key: revived(value) for key, value in fitting(cls, config).items()}
        parameters = inspect.signature(cls.__init__).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            for each in ("name", "trainable", "dtype"):
                if each not in parameters:
                    config.pop(each, None)
        return cls(**config)

    @property
    def input(self) -> Any:
        return self._node().args[0] if len(self._node().args) == 1 else list(self._node().args)

    @property
    def output(self) -> Any:
        return self._node().structure

    def _node(self) -> Any:
        node = getattr(self, "_last_node", None)
        if node is None:
            raise AttributeError(f"The layer {self.name} has never been called and thus has no defined "
                                 "input and output.")
        return node

    @property
    def path(self) -> str:
        return self.name
