"""A loss that is scaled so that 16-bit gradients keep their digits."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm

from .._base import raw, read, variable, wrap, write
from ._optimizer import Optimizer


class LossScaleOptimizer(Optimizer):
    """Scales the loss for another optimizer, whose step is left out where gradients overflow."""

    def __init__(
        self, inner_optimizer: Any, initial_scale: float = 32768.0, dynamic_growth_steps: int = 2000,
        **kwargs: Any,
    ) -> None:
        super().__init__(0.0, name=kwargs.pop("name", None))
        from . import get

        self.inner_optimizer = get(inner_optimizer)
        self.initial_scale, self.dynamic_growth_steps = initial_scale, dynamic_growth_steps
        self._scale = variable(np.float32(initial_scale), name="scale", trainable=False)
        self._since = variable(np.float32(0), name="steps_since", trainable=False)

    @property
    def learning_rate(self) -> Any:
        return self.inner_optimizer.learning_rate if "inner_optimizer" in self.__dict__ else None

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        if "inner_optimizer" in self.__dict__:
            self.inner_optimizer.learning_rate = value

    @property
    def iterations(self) -> Any:
        return self.inner_optimizer.iterations

    @iterations.setter
    def iterations(self, value: Any) -> None:
        self.inner_optimizer.iterations = value

    @property
    def dynamic_scale(self) -> Any:
        return self._scale

    @property
    def variables(self) -> list[Any]:
        return [self._scale, self._since, *self.inner_optimizer.variables]

    def build(self, variables: Any) -> None:
        super().build(variables)
        self.inner_optimizer.build(self._trainable)

    def scale_loss(self, loss: Any) -> Any:
        found = raw(loss)
        return wrap(pm.cast(found, pm.f32) * read(self._scale))

    get_scaled_loss = scale_loss

    def get_unscaled_gradients(self, gradients: Any) -> list[Any]:
        scale = pm.reciprocal(read(self._scale))
        return [None if g is None else wrap(raw(g) * scale) for g in gradients]

    def _step(self, gradients: list[pm.Tensor | None], variables: list[Any]) -> None:
        given = [g for g in gradients if g is not None]
        fine = pm.all(pm.stack([pm.all(pm.is_finite(g)) for g in given]))
        scale = pm.reciprocal(read(self._scale))
        states = [*variables, *self.inner_optimizer.variables]
        before = [read(each) * 1 for each in states]
        self.inner_optimizer._step([None if g is None else g * scale for g in gradients], variables)
        for each, old in zip(states, before):
            write(each, pm.where(fine, read(each), old))
        since = pm.where(fine, read(self._since) + 1.0, pm.zeros(()))
        grown = since >= float(self.dynamic_growth_steps)
        factor = pm.where(fine, pm.where(grown, pm.full((), 2.0), pm.full((), 1.0)), pm.full((), 0.5))
        write(self._scale, read(self._scale) * factor)
        write(self._since, pm.where(grown, pm.zeros(()), since))

    def finalize_variable_values(self, var_list: Any) -> None:
        self.inner_optimizer.finalize_variable_values(var_list)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "inner_optimizer": self.inner_optimizer.serialized(),
                "initial_scale": self.initial_scale,
                "dynamic_growth_steps": self.dynamic_growth_steps}
