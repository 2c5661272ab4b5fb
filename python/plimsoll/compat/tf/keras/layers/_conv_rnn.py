"""Recurrent layers of pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm

from .. import activations, constraints, initializers, regularizers
from .._base import raw, wrap
from ._conv import BaseConv
from ._core_layers import weight

_UNROLLED = 8  # as for other recurrent layers


class ConvLSTM2D(BaseConv):
    """An LSTM over [n, steps, height, width, channels] whose products are convolutions."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid", data_format: str | None = None,
        dilation_rate: Any = 1, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros", unit_forget_bias: bool = True, kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, recurrent_constraint: Any = None, bias_constraint: Any = None,
        dropout: float = 0.0, recurrent_dropout: float = 0.0, seed: Any = None, return_sequences: bool = False,
        return_state: bool = False, go_backwards: bool = False, stateful: bool = False, **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, 1, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, **kwargs)
        if stateful:
            raise NotImplementedError("ConvLSTM2D(stateful=True) is not supported; use return_state=True and give the "
                                      "states with initial_state=")
        self.recurrent_activation = activations.get(recurrent_activation)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.recurrent_regularizer = regularizers.get(recurrent_regularizer)
        self.recurrent_constraint = constraints.get(recurrent_constraint)
        self.unit_forget_bias = unit_forget_bias
        self.dropout, self.recurrent_dropout = float(dropout), float(recurrent_dropout)
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        channels = sequences_shape[-1 if self.data_format == "channels_last" else 2]
        wide = 4 * self.filters
        self.kernel = self.add_weight(
            (*self.kernel_size, channels, wide), self.kernel_initializer, name="kernel",
            regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self.recurrent_kernel = self.add_weight(
            (*self.kernel_size, self.filters, wide), self.recurrent_initializer, name="recurrent_kernel",
            regularizer=self.recurrent_regularizer, constraint=self.recurrent_constraint)
        if self.use_bias and self.unit_forget_bias:
            assert self.bias_initializer is not None
            first = np.array(self.bias_initializer((wide,)))
            first[self.filters:2 * self.filters] = 1.0
            self.bias_initializer = initializers.Constant(first)
        self._add_bias(wide)
        self.built = True

    def __call__(self, sequences: Any, initial_state: Any = None, **kwargs: Any) -> Any:
        if initial_state is not None:
            kwargs["initial_state"] = list(initial_state)
        return super().__call__(sequences, **kwargs)

    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: Any = False) -> Any:
        if mask is not None:
            raise NotImplementedError("ConvLSTM2D with a mask is not supported; leave the padded steps out")
        x = raw(sequences)
        if x.ndim != 5:
            raise ValueError(f"Input 0 of layer \"{self.name}\" is incompatible with the layer: expected ndim=5, found "
                             f"ndim={x.ndim}. Full shape received: {tuple(x.shape)}")
        x = x if x.dtype in (pm.f32, pm.f16, pm.bf16, pm.f64) else pm.cast(x, pm.f32)
        first = self.data_format == "channels_first"
        if first:
            x = pm.transpose(x, [0, 1, 3, 4, 2])
        n, steps = int(x.shape[0]), int(x.shape[1])
        if training and self.dropout:
            x = x * pm.dropout(pm.ones((n, 1, *x.shape[2:]), dtype=x.dtype), self.dropout)
        flat = pm.transpose(x, [1, 0, 2, 3, 4]).reshape((steps * n, *x.shape[2:]))
        projected = pm.conv2d(
            flat, pm.transpose(weight(self.kernel, x), [3, 2, 0, 1]), None if self.bias is None else weight(self.bias, x),
            stride=self.strides, padding=self._pads(flat), dilation=self.dilation_rate, layout="channels_last")
        given = projected.reshape((steps, n, *projected.shape[1:]))
        shape = (n, *projected.shape[1:3], self.filters)
        if initial_state is None:
            states = [pm.zeros(shape, dtype=x.dtype), pm.zeros(shape, dtype=x.dtype)]
        else:
            states = [raw(each) for each in initial_state]
            states = [pm.transpose(each, [0, 2, 3, 1]) for each in states] if first else states
        shared = [pm.transpose(weight(self.recurrent_kernel, x), [3, 2, 0, 1])]
        if training and self.recurrent_dropout:
            shared.append(pm.dropout(pm.ones(shape, dtype=x.dtype), self.recurrent_dropout))
        every, states = self._steps(given, states, shared, steps)

        def shown(y: pm.Tensor) -> Any:
            return wrap(pm.transpose(y, [*range(y.ndim - 3), y.ndim - 1, y.ndim - 3, y.ndim - 2]) if first else y)

        result = shown(every if self.return_sequences else states[0])
        return (result, *[shown(each) for each in states]) if self.return_state else result

    def _steps(
        self, given: pm.Tensor, states: list[pm.Tensor], shared: list[pm.Tensor], steps: int
    ) -> tuple[pm.Tensor, list[pm.Tensor]]:
        """The outputs [n, steps, ...] in the order they were computed, and the last states."""
        if steps > _UNROLLED and pm.default_device().kind == "cpu":
            found = pm.scan(lambda s, x, w: (self._step(x[0], s, w), None), states, [given], shared, reverse=self.go_backwards)
            every = pm.flip(found.states[0], 0) if self.go_backwards else found.states[0]
            return pm.transpose(every, [1, 0, 2, 3, 4]), list(found.last)
        outputs = []
        for t in range(steps - 1, -1, -1) if self.go_backwards else range(steps):
            states = self._step(given[t], states, shared)
            outputs.append(states[0])
        return pm.stack(outputs, axis=1), states

    def _step(self, px: pm.Tensor, states: list[pm.Tensor], shared: list[pm.Tensor]) -> list[pm.Tensor]:
        h, before = states
        fed = h * shared[1] if len(shared) > 1 else h
        windows = self.kernel_size
        pads = ((windows[0] - 1) // 2, windows[0] // 2, (windows[1] - 1) // 2, windows[1] // 2)
        z = px + pm.conv2d(fed, shared[0], None, stride=(1, 1), padding=pads, layout="channels_last")
        i, f, c, o = pm.split(z, [self.filters] * 4, axis=-1)

        def act(how: Any, value: pm.Tensor) -> pm.Tensor:
            found: pm.Tensor = raw(how(wrap(value)))
            return found

        gate = self.recurrent_activation
        cell = act(gate, f) * before + act(gate, i) * act(self.activation, c)
        return [act(gate, o) * act(self.activation, cell), cell]
