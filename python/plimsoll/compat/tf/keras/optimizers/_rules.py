"""The rules, with Keras's defaults and in its order of operations."""

from __future__ import annotations

from typing import Any

import plimsoll as pm
from plimsoll import _core

from .._base import key_of, read, var, write
from ._optimizer import Optimizer, scalar

_NO_CORRECTION = 1e9  # a step count from which on the corrections of Adam's moments are 1


def _power(base: float, step: pm.Tensor) -> pm.Tensor:
    return pm.pow(pm.zeros_like(step) + base, step)


class Ruled(Optimizer):
    """Slots by name, and numbers that are kept for get_config."""

    _numbers: tuple[str, ...] = ()

    def _keep(self, **numbers: Any) -> None:
        self._numbers = tuple(numbers)
        for name, value in numbers.items():
            setattr(self, name, value)

    def _slot(self, slots: list[Any], of: Any) -> Any:
        return slots[self._get_variable_index(of)]

    def _count(self, ahead: float = 1.0) -> pm.Tensor:
        return self._updates(ahead)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **{name: getattr(self, name) for name in self._numbers}}


class SGD(Ruled):
    """Gradient descent, with momentum, plain or Nesterov's."""

    def __init__(
        self, learning_rate: Any = 0.01, momentum: float = 0.0, nesterov: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        if not isinstance(momentum, (int, float)) or not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be a float between [0, 1].")
        self._keep(momentum=momentum, nesterov=nesterov)
        self.momentum, self.nesterov = momentum, nesterov

    def build(self, variables: Any) -> None:
        super().build(variables)
        self.momentums = self.add_optimizer_variables(self._trainable, "momentum") if self.momentum else []

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        if not self.momentum:
            _core._sgd_update(var(of), None, gradient, rate, 0.0, False)
            return
        # Steps gather in the slot, as Keras has it, with the opposite sign while they are applied.
        slot = self._slot(self.momentums, of)
        step = gradient * rate
        moved = read(slot) * float(self.momentum) - step
        write(slot, moved)
        moved = read(slot)
        if self.nesterov:
            write(of, read(of) + (moved * float(self.momentum) - step))
        else:
            write(of, read(of) + moved)


class Adam(Ruled):
    """Kingma and Ba 2014."""

    squares = True

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float = 1e-7, amsgrad: bool = False, weight_decay: float | None = None, **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, weight_decay=weight_decay, **kwargs)
        self._keep(beta_1=beta_1, beta_2=beta_2, epsilon=epsilon, amsgrad=amsgrad)
        self.beta_1, self.beta_2, self.epsilon, self.amsgrad = beta_1, beta_2, epsilon, amsgrad

    def build(self, variables: Any) -> None:
        super().build(variables)
        self._momentums, self._velocities = self.add_optimizer_variables(self._trainable, ["momentum", "velocity"])
        if self.amsgrad:
            self._velocity_hats = self.add_optimizer_variables(self._trainable, "velocity_hat")

    def _before(self) -> None:
        step = self._count()
        self._alpha = pm.sqrt(1.0 - _power(self.beta_2, step)) / (1.0 - _power(self.beta_1, step))
        self._late = scalar(_NO_CORRECTION)

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        m, v = self._slot(self._momentums, of), self._slot(self._velocities, of)
        if not self.amsgrad and key_of(of) not in self._squares:
            _core._adam_update(var(of), var(m), var(v), gradient, rate * self._alpha, self._late,
                               self.beta_1, self.beta_2, self.epsilon)
            return
        write(m, read(m) + (gradient - read(m)) * (1 - self.beta_1))
        write(v, read(v) + (self._square(gradient, of) - read(v)) * (1 - self.beta_2))
        second = read(v)
        if self.amsgrad:
            hat = self._slot(self._velocity_hats, of)
            write(hat, pm.maximum(read(hat), second))
            second = read(hat)
        write(of, read(of) - read(m) * (rate * self._alpha) / (pm.sqrt(second) + self.epsilon))


class AdamW(Adam):
    """Loshchilov and Hutter 2017."""

    def __init__(
        self, learning_rate: Any = 0.001, weight_decay: float = 0.004, beta_1: float = 0.9,
        beta_2: float = 0.999, epsilon: float = 1e-7, amsgrad: bool = False, **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay, **kwargs)
        if self.weight_decay is None:
            raise ValueError("Argument `weight_decay` must be a float. Received: weight_decay=None")


class RMSprop(Ruled):
    squares = True

    def __init__(
        self, learning_rate: Any = 0.001, rho: float = 0.9, momentum: float = 0.0,
        epsilon: float = 1e-7, centered: bool = False, **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self._keep(rho=rho, momentum=momentum, epsilon=epsilon, centered=centered)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered

    def build(self, variables: Any) -> None:
        super().build(variables)
        self._velocities = self.add_optimizer_variables(self._trainable, "velocity")
        if self.momentum:
            self._momentums = self.add_optimizer_variables(self._trainable, "momentum")
        if self.centered:
            self._averages = self.add_optimizer_variables(self._trainable, "average_gradient")

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        v = self._slot(self._velocities, of)
        m = self._slot(self._momentums, of) if self.momentum else None
        if not self.centered and key_of(of) not in self._squares:
            _core._rmsprop_update(var(of), var(v), None if m is None else var(m), gradient, rate,
                                  self.rho, self.epsilon, float(self.momentum))
            return
        write(v, read(v) * self.rho + self._square(gradient, of) * (1 - self.rho))
        spread = read(v)
        if self.centered:
            mean = self._slot(self._averages, of)
            write(mean, read(mean) * self.rho + gradient * (1 - self.rho))
            spread = spread - pm.square(read(mean))
        step = gradient * rate / pm.sqrt(spread + self.epsilon)
        if m is not None:
            write(m, read(m) * float(self.momentum) + step)
            step = read(m)
        write(of, read(of) - step)


class Adagrad(Ruled):
    squares = True

    def __init__(
        self, learning_rate: Any = 0.001, initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7, **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self._keep(initial_accumulator_value=initial_accumulator_value, epsilon=epsilon)
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def build(self, variables: Any) -> None:
        super().build(variables)
        self._accumulators = self.add_optimizer_variables(
            self._trainable, "accumulator", float(self.initial_accumulator_value))

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        total = self._slot(self._accumulators, of)
        write(total, read(total) + self._square(gradient, of))
        write(of, read(of) - gradient * rate / pm.sqrt(read(total) + self.epsilon))


class Adadelta(Ruled):
    squares = True

    def __init__(
        self, learning_rate: Any = 0.001, rho: float = 0.95, epsilon: float = 1e-7, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self._keep(rho=rho, epsilon=epsilon)
        self.rho, self.epsilon = rho, epsilon

    def build(self, variables: Any) -> None:
        super().build(variables)
        self._gradients, self._deltas = self.add_optimizer_variables(
            self._trainable, ["accumulated_grad", "accumulated_delta_var"])

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        seen, moved = self._slot(self._gradients, of), self._slot(self._deltas, of)
        write(seen, read(seen) * self.rho + self._square(gradient, of) * (1 - self.rho))
        step = pm.sqrt(read(moved) + self.epsilon) * gradient / pm.sqrt(read(seen) + self.epsilon)
        write(of, read(of) - step * rate)
        write(moved, read(moved) * self.rho + pm.square(step) * (1 - self.rho))


class Adamax(Ruled):
    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float = 1e-7, **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self._keep(beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def build(self, variables: Any) -> None:
        super().build(variables)
        self._m, self._u = self.add_optimizer_variables(self._trainable, ["momentum", "norm"])

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        m, u = self._slot(self._m, of), self._slot(self._u, of)
        write(m, read(m) + (gradient - read(m)) * (1 - self.beta_1))
        write(u, pm.maximum(read(u) * self.beta_2, pm.abs(gradient)))
        left = 1.0 - _power(self.beta_1, self._count())
        write(of, read(of) - read(m) * rate / ((read(u) + self.epsilon) * left))


class Nadam(Ruled):
    squares = True

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float = 1e-7, **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self._keep(beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def build(self, variables: Any) -> None:
        super().build(variables)
        self._momentums, self._velocities = self.add_optimizer_variables(self._trainable, ["momentum", "velocity"])
        self._u_product = self.add_variable((), "ones", name="u_product")

    def _before(self) -> None:
        step = self._count()
        self._u_t = (1.0 - _power(0.96, step) * 0.5) * self.beta_1
        self._u_next = (1.0 - _power(0.96, self._count(2.0)) * 0.5) * self.beta_1
        write(self._u_product, read(self._u_product) * self._u_t)
        self._product = read(self._u_product)
        self._second = 1.0 - _power(self.beta_2, step)

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        m, v = self._slot(self._momentums, of), self._slot(self._velocities, of)
        write(m, read(m) + (gradient - read(m)) * (1 - self.beta_1))
        write(v, read(v) + (self._square(gradient, of) - read(v)) * (1 - self.beta_2))
        hat = read(m) * (self._u_next / (1.0 - self._product * self._u_next)) + gradient * (
            (1.0 - self._u_t) / (1.0 - self._product))
        root = pm.sqrt(read(v) / self._second) + self.epsilon
        write(of, read(of) - hat * rate / root)


class Ftrl(Ruled):
    def __init__(
        self, learning_rate: Any = 0.001, learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1, l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0, l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0, **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self._keep(
            learning_rate_power=learning_rate_power, initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength, beta=beta)
        self.initial_accumulator_value, self.power = initial_accumulator_value, learning_rate_power
        self.l1, self.l2 = l1_regularization_strength, l2_regularization_strength
        self.shrinkage, self.beta = l2_shrinkage_regularization_strength, beta

    def build(self, variables: Any) -> None:
        super().build(variables)
        self._accumulators, self._linears = self.add_optimizer_variables(
            self._trainable, ["accumulator", "linear"], [float(self.initial_accumulator_value), "zeros"])

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        total, linear = self._slot(self._accumulators, of), self._slot(self._linears, of)
        l2 = pm.reciprocal(rate * 2.0) * self.beta + self.l2
        before = pm.pow(read(total), -self.power)
        after_total = read(total) + self._square(gradient, of)
        after = pm.pow(after_total, -self.power)
        shrunk = gradient + read(of) * (2 * self.shrinkage) if self.shrinkage else gradient
        write(linear, read(linear) + (shrunk - (after - before) / rate * read(of)))
        quadratic = after / rate + l2 * 2.0
        cut = pm.clip(read(linear), -self.l1, self.l1) if self.l1 else pm.zeros_like(gradient)
        write(of, (cut - read(linear)) / quadratic)
        write(total, after_total)


class Lion(Ruled):
    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.99, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self._keep(beta_1=beta_1, beta_2=beta_2)
        self.beta_1, self.beta_2 = beta_1, beta_2

    def build(self, variables: Any) -> None:
        super().build(variables)
        self._momentums = self.add_optimizer_variables(self._trainable, "momentum")

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        m = self._slot(self._momentums, of)
        mixed = read(m) * self.beta_1 + gradient * (1 - self.beta_1)
        write(of, read(of) - pm.sign(mixed) * rate)
        write(m, read(m) * self.beta_2 + gradient * (1 - self.beta_2))


class Lamb(Adam):
    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float = 1e-7, **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, False, **kwargs)
        self._keep(beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        m, v = self._slot(self._momentums, of), self._slot(self._velocities, of)
        write(m, read(m) + (gradient - read(m)) * (1 - self.beta_1))
        write(v, read(v) + (self._square(gradient, of) - read(v)) * (1 - self.beta_2))
        count = self._count()
        first = read(m) / (1.0 - _power(self.beta_1, count))
        root = pm.sqrt(read(v) / (1.0 - _power(self.beta_2, count))) + self.epsilon
        step = first / root
        own, length = pm.sqrt(pm.sum(pm.square(read(of)))), pm.sqrt(pm.sum(pm.square(step)))
        one = pm.ones_like(own)
        ratio = pm.where(own > 0.0, pm.where(length > 0.0, own / length, one), one)
        write(of, read(of) - step * (ratio * rate))
