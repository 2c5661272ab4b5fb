"""Layers around another one: both directions of a recurrent layer, a layer on every step."""

from __future__ import annotations

from typing import Any

import plimsoll as pm

from .._base import raw, wrap
from ._layer import Layer


class Wrapper(Layer):
    """A layer around another one: the base of wrappers of one's own."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(layer, Layer):
            raise TypeError(f"Layer {layer} supplied to {type(self).__name__} isn't a supported layer type. Please ensure "
                            "wrapped layer is a valid Keras layer.")
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True


class Bidirectional(Layer):
    """A recurrent layer and one that runs backwards."""

    supports_masking = True

    def __init__(
        self, layer: Any, merge_mode: str | None = "concat", weights: Any = None,
        backward_layer: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError(f"Invalid merge mode. Received: {merge_mode}")
        config = layer.get_config()
        config["name"] = "forward_" + layer.name
        self.forward_layer = type(layer).from_config(config)
        if backward_layer is None:
            config = {**layer.get_config(), "go_backwards": not layer.go_backwards,
                      "name": "backward_" + layer.name}
            backward_layer = type(layer).from_config(config)
        self.backward_layer = backward_layer
        self.merge_mode = merge_mode
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        for each in (self.forward_layer, self.backward_layer):
            if not each.built:
                each.build(sequences_shape)
        self.built = True

    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: Any = None) -> Any:
        half = len(initial_state) // 2 if initial_state else 0
        states = (initial_state[:half], initial_state[half:]) if initial_state else (None, None)
        there = self.forward_layer(sequences, initial_state=states[0], mask=mask, training=training)
        back = self.backward_layer(sequences, initial_state=states[1], mask=mask, training=training)
        kept: list[Any] = []
        if self.return_state:
            kept = [*there[1:], *back[1:]]
            there, back = there[0], back[0]
        a, b = raw(there), raw(back)
        if self.return_sequences:
            b = pm.flip(b, 1)
        if self.merge_mode is None:
            merged: Any = (wrap(a), wrap(b))
        elif self.merge_mode == "concat":
            merged = wrap(pm.concat([a, b], axis=-1))
        elif self.merge_mode == "mul":
            merged = wrap(a * b)
        else:
            merged = wrap((a + b) * (0.5 if self.merge_mode == "ave" else 1.0))
        if not self.return_state:
            return merged
        return (*(merged if isinstance(merged, tuple) else (merged,)), *kept)

    def compute_mask(self, sequences: Any, mask: Any = None) -> Any:
        return mask if self.return_sequences else None


class TimeDistributed(Layer):
    """A layer on every step."""

    supports_masking = True

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape: Any) -> None:
        if not self.layer.built:
            self.layer._build((_Shaped((None, *input_shape[2:])),), {})
        self.built = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        x = raw(inputs)
        n, t = int(x.shape[0]), int(x.shape[1])
        flat = wrap(x.reshape((n * t, *x.shape[2:])))
        names, _ = self.layer._call_names()
        result = self.layer(flat, training=training) if "training" in names else self.layer(flat)
        y = raw(result)
        return wrap(y.reshape((n, t, *y.shape[1:])))


class _Shaped:
    """Something with a shape."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape
