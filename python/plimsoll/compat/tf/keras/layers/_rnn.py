"""Recurrent layers: one product serves the inputs of all steps, and one op (pm.scan) all that follows. Few
steps, and cells of a user's, are unrolled."""

from __future__ import annotations

from typing import Any, Sequence

import plimsoll as pm

from .. import activations, constraints, initializers, regularizers
from .._base import calls, raw, wrap
from ._core_layers import dense, weight
from ._layer import Layer

States = list[pm.Tensor]
_UNROLLED = 8  # as many steps have second derivatives, which pm.scan has not


class _Cell(Layer):
    """One step. `project` is what depends on inputs alone, for one step or all; `step` is the rest."""

    gates = 1
    states = 1

    def __init__(
        self, units: int, activation: Any = "tanh", use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros", kernel_regularizer: Any = None, recurrent_regularizer: Any = None,
        bias_regularizer: Any = None, kernel_constraint: Any = None, recurrent_constraint: Any = None,
        bias_constraint: Any = None, dropout: float = 0.0, recurrent_dropout: float = 0.0,
        seed: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if units <= 0:
            raise ValueError(
                f"Received an invalid value for argument `units`, expected a positive integer, got {units}.")
        self.units, self.use_bias = units, use_bias
        self.activation = activations.get(activation)
        self.dropout, self.recurrent_dropout = float(dropout), float(recurrent_dropout)
        self._kernel_options = dict(
            initializer=initializers.get(kernel_initializer),
            regularizer=regularizers.get(kernel_regularizer), constraint=constraints.get(kernel_constraint))
        self._recurrent_options = dict(
            initializer=initializers.get(recurrent_initializer),
            regularizer=regularizers.get(recurrent_regularizer),
            constraint=constraints.get(recurrent_constraint))
        self._bias_options = dict(
            initializer=initializers.get(bias_initializer),
            regularizer=regularizers.get(bias_regularizer), constraint=constraints.get(bias_constraint))

    @property
    def state_size(self) -> Any:
        return self.units if self.states == 1 else [self.units] * self.states

    @property
    def output_size(self) -> int:
        return self.units

    def build(self, input_shape: Any) -> None:
        wide = self.units * self.gates
        self.kernel = self.add_weight((input_shape[-1], wide), name="kernel", **self._kernel_options)
        self.recurrent_kernel = self.add_weight(
            (self.units, wide), name="recurrent_kernel", **self._recurrent_options)
        self.bias = self.add_weight(self._bias_shape(wide), name="bias",
                                    **self._bias_first()) if self.use_bias else None
        self.built = True

    def _bias_shape(self, wide: int) -> tuple[int, ...]:
        return (wide,)

    def _bias_first(self) -> dict[str, Any]:
        return self._bias_options

    def project(self, x: pm.Tensor) -> pm.Tensor:
        return dense(x, weight(self.kernel, x), None if self.bias is None else weight(self.bias, x))

    def step(self, px: pm.Tensor, h: States) -> tuple[pm.Tensor, States]:
        raise NotImplementedError

    def call(self, inputs: Any, states: Any, training: Any = False) -> Any:
        given = [raw(each) for each in (states if isinstance(states, (list, tuple)) else [states])]
        x = raw(inputs)
        if training and self.dropout:
            x = pm.dropout(x, self.dropout)
        output, after = self.step(self.project(x), given)
        return wrap(output), [wrap(each) for each in after]

    def get_initial_state(self, batch_size: Any = None, **kwargs: Any) -> list[Any]:
        return [wrap(pm.zeros((int(batch_size), self.units))) for _ in range(self.states)]

    def _act(self, f: Any, x: pm.Tensor) -> pm.Tensor:
        found: pm.Tensor = _APPLY.get(f, lambda v: raw(f(wrap(v))))(x)
        return found


_APPLY: dict[Any, Any] = {
    activations.tanh: pm.tanh, activations.sigmoid: pm.sigmoid, activations.relu: pm.relu,
    activations.linear: lambda x: x,
}


class SimpleRNNCell(_Cell):
    def step(self, px: pm.Tensor, h: States) -> tuple[pm.Tensor, States]:
        y = self._act(self.activation, px + pm.matmul(h[0], weight(self.recurrent_kernel, px)))
        return y, [y]


class LSTMCell(_Cell):
    gates, states = 4, 2

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid",
        use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True, **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, use_bias, kernel_initializer, recurrent_initializer,
                         bias_initializer, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias

    def _bias_first(self) -> dict[str, Any]:
        if not self.unit_forget_bias:
            return self._bias_options
        import numpy as np

        first = initializers.get(self._bias_options["initializer"])
        assert first is not None
        array = np.asarray(first((self.units * 4,)))
        made = array.copy()
        made[self.units:2 * self.units] = 1.0
        return {**self._bias_options, "initializer": initializers.Constant(made)}

    def step(self, px: pm.Tensor, h: States) -> tuple[pm.Tensor, States]:
        z = px + pm.matmul(h[0], weight(self.recurrent_kernel, px))
        i, f, c, o = pm.split(z, [self.units] * 4, axis=-1)
        r = self.recurrent_activation
        cell = self._act(r, f) * h[1] + self._act(r, i) * self._act(self.activation, c)
        y = self._act(r, o) * self._act(self.activation, cell)
        return y, [y, cell]


class GRUCell(_Cell):
    gates = 3

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid",
        use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros", *,
        reset_after: bool = True, **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, use_bias, kernel_initializer, recurrent_initializer,
                         bias_initializer, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.reset_after = reset_after

    def _bias_shape(self, wide: int) -> tuple[int, ...]:
        return (2, wide) if self.reset_after else (wide,)

    def project(self, x: pm.Tensor) -> pm.Tensor:
        bias = None
        if self.bias is not None:
            bias = weight(self.bias, x)
            bias = bias[0] if self.reset_after else bias
        return dense(x, weight(self.kernel, x), bias)

    def step(self, px: pm.Tensor, h: States) -> tuple[pm.Tensor, States]:
        kernel, u, r = weight(self.recurrent_kernel, px), self.units, self.recurrent_activation
        xz, xr, xh = pm.split(px, [u] * 3, axis=-1)
        if self.reset_after:
            inner = pm.matmul(h[0], kernel)
            if self.bias is not None:
                inner = inner + weight(self.bias, px)[1]
            hz, hr, hh = pm.split(inner, [u] * 3, axis=-1)
            update, reset = self._act(r, xz + hz), self._act(r, xr + hr)
            new = self._act(self.activation, xh + reset * hh)
        else:
            inner = pm.matmul(h[0], kernel[:, : 2 * u])
            hz, hr = pm.split(inner, [u] * 2, axis=-1)
            update, reset = self._act(r, xz + hz), self._act(r, xr + hr)
            new = self._act(self.activation, xh + pm.matmul(reset * h[0], kernel[:, 2 * u:]))
        y = update * h[0] + (1.0 - update) * new
        return y, [y]


class StackedRNNCells(Layer):
    """Cells one above the other."""

    def __init__(self, cells: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self) -> list[Any]:
        return [each.state_size for each in self.cells]

    @property
    def output_size(self) -> int:
        found: int = self.cells[-1].output_size
        return found

    def build(self, input_shape: Any) -> None:
        for each in self.cells:
            if not each.built:
                each.build(input_shape)
                each.built = True
            input_shape = (input_shape[0], each.output_size)
        self.built = True

    def call(self, inputs: Any, states: Any, training: Any = False) -> Any:
        after: list[Any] = []
        left = list(states)
        for each in self.cells:
            count = len(each.state_size) if isinstance(each.state_size, (list, tuple)) else 1
            inputs, new = each(inputs, left[:count])
            after.extend(new if isinstance(new, (list, tuple)) else [new])
            left = left[count:]
        return inputs, after

    def get_initial_state(self, batch_size: Any = None, **kwargs: Any) -> list[Any]:
        return [s for each in self.cells for s in each.get_initial_state(batch_size=batch_size)]


class RNN(Layer):
    """A cell over all steps of [n, steps, features]."""

    supports_masking = True

    def __init__(
        self, cell: Any, return_sequences: bool = False, return_state: bool = False,
        go_backwards: bool = False, stateful: bool = False, unroll: bool = False,
        zero_output_for_mask: bool = False, time_major: bool = False, **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if time_major:
            raise NotImplementedError("RNN(time_major=True) is not supported; transpose the input")
        if stateful:
            raise NotImplementedError("RNN(stateful=True) is not supported; use return_state=True and give "
                                      "the states with initial_state=")
        self.cell: Any = StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.zero_output_for_mask = go_backwards, zero_output_for_mask

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        if not self.cell.built:
            self.cell.build((sequences_shape[0], *sequences_shape[2:]))
            self.cell.built = True
        self.built = True

    @property
    def units(self) -> int:
        found: int = self.cell.output_size
        return found

    def get_initial_state(self, batch_size: Any) -> Any:
        """Zeros for a batch: a list, or the state itself where a cell has one."""
        found = [wrap(each) for each in self._first_states(int(batch_size), pm.f32)]
        return found

    def _first_states(self, batch: int, dtype: Any) -> States:
        if hasattr(self.cell, "get_initial_state"):
            return [pm.cast(raw(each), dtype) if raw(each).dtype != dtype else raw(each)
                    for each in self.cell.get_initial_state(batch_size=batch)]
        sizes = self.cell.state_size
        sizes = sizes if isinstance(sizes, (list, tuple)) else [sizes]
        return [pm.zeros((batch, int(n)), dtype=dtype) for n in sizes]

    def __call__(self, sequences: Any, initial_state: Any = None, **kwargs: Any) -> Any:
        if isinstance(sequences, (list, tuple)) and initial_state is None:
            sequences, initial_state = sequences[0], list(sequences[1:]) or None
        if initial_state is not None:
            if not isinstance(initial_state, (list, tuple)):
                initial_state = [initial_state]
            kwargs["initial_state"] = list(initial_state)
        return super().__call__(sequences, **kwargs)

    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: Any = False) -> Any:
        x = raw(sequences)
        if x.ndim < 3:
            raise ValueError(f"Input 0 of layer \"{self.name}\" is incompatible with the layer: expected "
                             f"ndim=3, found ndim={x.ndim}. Full shape received: {tuple(x.shape)}")
        n, steps = int(x.shape[0]), int(x.shape[1])
        if x.dtype not in (pm.f32, pm.f16, pm.bf16, pm.f64):
            x = pm.cast(x, pm.f32)
        states = self._first_states(n, x.dtype) if initial_state is None else [
            raw(each) if raw(each).dtype == x.dtype else pm.cast(raw(each), x.dtype) for each in initial_state]
        on = None if mask is None else pm.cast(raw(mask), x.dtype)
        own = isinstance(self.cell, _Cell)
        if own and training and self.cell.dropout:
            x = x * pm.dropout(pm.ones((n, 1, *x.shape[2:]), dtype=x.dtype), self.cell.dropout)
        dropped = None
        if own and training and self.cell.recurrent_dropout:
            dropped = pm.dropout(pm.ones((n, self.cell.units), dtype=x.dtype), self.cell.recurrent_dropout)
        # GPUs want slices of whole 16 bytes.
        whole = pm.default_device().kind == "cpu" or (n if on is not None else n * self.units) % 8 == 0
        if own and steps > _UNROLLED and whole:
            y, states = self._scanned(x, states, on, dropped)
        else:
            y, states = self._unrolled(x, states, on, dropped, training)
        result: Any = wrap(y)
        if self.return_state:
            return (result, *[wrap(each) for each in states])
        return result

    def _scanned(
        self, x: pm.Tensor, first: States, on: pm.Tensor | None, dropped: pm.Tensor | None
    ) -> tuple[pm.Tensor, States]:
        """All steps as one op; a mask makes the output a state of its own."""
        n, count = int(x.shape[0]), len(first)
        xs = [self.cell.project(pm.transpose(x, [1, 0, 2]))]
        carried = list(first)
        if on is not None:
            xs.append(pm.transpose(on, [1, 0]))
            carried.append(pm.zeros_like(first[0]))

        def step(states: States, given: States, shared: States) -> tuple[States, None]:
            before = states[:count]
            fed = [before[0] * shared[0], *before[1:]] if shared else before
            out, after = self.cell.step(given[0], fed)
            if on is None:
                return after, None
            share = given[1].reshape((n, 1))
            rest = 1.0 - share
            kept = [a * share + b * rest for a, b in zip(after, before)]
            shown = out * share if self.zero_output_for_mask else out * share + states[count] * rest
            return [*kept, shown], None

        shared = [] if dropped is None else [dropped]
        found = pm.scan(step, carried, xs, shared, reverse=self.go_backwards)
        at = 0 if on is None else count
        if not self.return_sequences:
            return found.last[at], found.last[:count]
        every = found.states[at]
        every = pm.flip(every, 0) if self.go_backwards else every
        return pm.transpose(every, [1, 0, 2]), found.last[:count]

    def _unrolled(
        self, x: pm.Tensor, states: States, on: pm.Tensor | None, dropped: pm.Tensor | None, training: Any
    ) -> tuple[pm.Tensor, States]:
        n, steps = int(x.shape[0]), int(x.shape[1])
        own = isinstance(self.cell, _Cell)
        given = self.cell.project(x) if own else x
        outputs: list[pm.Tensor] = []
        y: pm.Tensor | None = None
        for t in (range(steps - 1, -1, -1) if self.go_backwards else range(steps)):
            fed = states if dropped is None else [states[0] * dropped, *states[1:]]
            if own:
                out, after = self.cell.step(given[:, t], fed)
            else:
                out, after = self._user_step(given[:, t], fed, training)
            if on is not None:
                share = on[:, t].reshape((n, 1))
                before = pm.zeros_like(out) if y is None or self.zero_output_for_mask else y
                out = out * share + before * (1.0 - share)
                after = [a * share + b * (1.0 - share) for a, b in zip(after, states)]
            y, states = out, after
            if self.return_sequences:
                outputs.append(out)
        assert y is not None
        return (pm.stack(outputs, axis=1) if self.return_sequences else y), states

    def _user_step(self, x: pm.Tensor, states: States, training: Any) -> tuple[pm.Tensor, States]:
        before = calls.training
        calls.training = training
        try:
            sizes = self.cell.state_size
            given: Any = [wrap(each) for each in states]
            out, after = self.cell(wrap(x), given if isinstance(sizes, (list, tuple)) or len(given) > 1
                                   else given)
        finally:
            calls.training = before
        after = after if isinstance(after, (list, tuple)) else [after]
        return raw(out), [raw(each) for each in after]

    def compute_mask(self, sequences: Any, mask: Any = None) -> Any:
        return (mask[0] if isinstance(mask, list) else mask) if self.return_sequences else None

    def reset_states(self) -> None:
        """Nothing: no states are kept between calls."""

    reset_state = reset_states


_CELL_ARGUMENTS = (
    "activation", "recurrent_activation", "use_bias", "kernel_initializer", "recurrent_initializer",
    "bias_initializer", "unit_forget_bias", "kernel_regularizer", "recurrent_regularizer",
    "bias_regularizer", "kernel_constraint", "recurrent_constraint", "bias_constraint", "dropout",
    "recurrent_dropout", "seed", "reset_after",
)


class _CellRNN(RNN):
    """A recurrent layer of a cell of ours: the cell's arguments and RNN's."""

    cell_class: Any = None
    order: tuple[str, ...] = ("units", "activation", "recurrent_activation", "use_bias")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for name, value in zip(self.order, args):
            kwargs[name] = value
        kwargs.pop("implementation", None)
        kwargs.pop("use_cudnn", None)
        own = {name: kwargs.pop(name) for name in _CELL_ARGUMENTS if name in kwargs}
        if "units" not in kwargs:
            raise TypeError(f"{type(self).__name__} takes units, the size of its state")
        units = kwargs.pop("units")
        super().__init__(self.cell_class(units, dtype=kwargs.get("dtype"), **own), **kwargs)

    def get_config(self) -> dict[str, Any]:
        found = super().get_config()
        args, _ = self._arguments
        found.pop("args", None)
        found.update(dict(zip(self.order, args)))
        return found


class SimpleRNN(_CellRNN):
    cell_class = SimpleRNNCell
    order = ("units", "activation", "use_bias")


class LSTM(_CellRNN):
    cell_class = LSTMCell


class GRU(_CellRNN):
    cell_class = GRUCell
