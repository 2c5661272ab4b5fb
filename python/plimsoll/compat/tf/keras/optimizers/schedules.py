"""Learning rates as functions of the step. They are traced into the step with it."""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import plimsoll as pm

from .._base import op
from .._config import Configured, lookup

__all__ = [
    "CosineDecay", "CosineDecayRestarts", "ExponentialDecay", "InverseTimeDecay",
    "LearningRateSchedule", "PiecewiseConstantDecay", "PolynomialDecay", "deserialize", "serialize",
]


class LearningRateSchedule(Configured):
    """Base of all. One of one's own has __call__(step), in tf ops."""

    def __call__(self, step: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __call__(step)")


class _Options(LearningRateSchedule):
    """Attributes by the names of the arguments."""

    _names: tuple[str, ...] = ()

    def get_config(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names}

    def __call__(self, step: Any) -> Any:
        return _evaluate(step, self.rate)

    def rate(self, step: pm.Tensor) -> pm.Tensor:
        raise NotImplementedError


@op
def _evaluate(step: pm.Tensor, rate: Callable[[pm.Tensor], pm.Tensor]) -> pm.Tensor:
    return rate(step if step.dtype == pm.f32 else pm.cast(step, pm.f32))


class ExponentialDecay(_Options):
    _names = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase", "name")

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, decay_rate: float,
        staircase: bool = False, name: str = "ExponentialDecay",
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase, self.name = decay_rate, staircase, name

    def rate(self, step: pm.Tensor) -> pm.Tensor:
        p = step / float(self.decay_steps)
        p = pm.floor(p) if self.staircase else p
        return pm.exp(p * math.log(self.decay_rate)) * float(self.initial_learning_rate)


class InverseTimeDecay(ExponentialDecay):
    def __init__(
        self, initial_learning_rate: float, decay_steps: int, decay_rate: float,
        staircase: bool = False, name: str = "InverseTimeDecay",
    ) -> None:
        super().__init__(initial_learning_rate, decay_steps, decay_rate, staircase, name)

    def rate(self, step: pm.Tensor) -> pm.Tensor:
        p = step / float(self.decay_steps)
        p = pm.floor(p) if self.staircase else p
        return pm.reciprocal(p * self.decay_rate + 1.0) * float(self.initial_learning_rate)


class PiecewiseConstantDecay(_Options):
    _names = ("boundaries", "values", "name")

    def __init__(
        self, boundaries: Sequence[float], values: Sequence[float], name: str = "PiecewiseConstant"
    ) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values. Received: "
                f"boundaries={boundaries} of length {len(boundaries)}, and values={values} of length "
                f"{len(values)}."
            )
        self.boundaries, self.values, self.name = list(boundaries), list(values), name

    def rate(self, step: pm.Tensor) -> pm.Tensor:
        found = pm.zeros_like(step) + float(self.values[-1])
        for bound, value in zip(reversed(self.boundaries), reversed(self.values[:-1])):
            found = pm.where(step <= float(bound), pm.zeros_like(step) + float(value), found)
        return found


class PolynomialDecay(_Options):
    _names = ("initial_learning_rate", "decay_steps", "end_learning_rate", "power", "cycle", "name")

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, end_learning_rate: float = 0.0001,
        power: float = 1.0, cycle: bool = False, name: str = "PolynomialDecay",
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power, self.cycle, self.name = end_learning_rate, power, cycle, name

    def rate(self, step: pm.Tensor) -> pm.Tensor:
        steps: Any = float(self.decay_steps)
        if self.cycle:
            over = step / steps
            rounds = pm.where(step == 0.0, pm.ones_like(step), -pm.floor(-over))
            steps = rounds * steps
        else:
            step = pm.minimum(step, steps)
        left: pm.Tensor = 1.0 - step / steps
        span = self.initial_learning_rate - self.end_learning_rate
        return (left if self.power == 1.0 else pm.pow(left, float(self.power))) * span + float(
            self.end_learning_rate)


class CosineDecay(_Options):
    _names = ("initial_learning_rate", "decay_steps", "alpha", "name", "warmup_target", "warmup_steps")

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, alpha: float = 0.0,
        name: str = "CosineDecay", warmup_target: float | None = None, warmup_steps: int = 0,
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.alpha = initial_learning_rate, decay_steps, alpha
        self.name, self.warmup_target, self.warmup_steps = name, warmup_target, warmup_steps

    def _cosine(self, step: pm.Tensor, top: float) -> pm.Tensor:
        share = pm.minimum(step, float(self.decay_steps)) / float(self.decay_steps)
        cosine = (pm.cos(share * math.pi) + 1.0) * 0.5
        return (cosine * (1.0 - self.alpha) + self.alpha) * top

    def rate(self, step: pm.Tensor) -> pm.Tensor:
        first = float(self.initial_learning_rate)
        if self.warmup_target is None:
            return self._cosine(step, first)
        target, steps = float(self.warmup_target), float(self.warmup_steps)
        warm = step / max(steps, 1e-9) * (target - first) + first
        return pm.where(step < steps, warm, self._cosine(pm.maximum(step - steps, 0.0), target))


class CosineDecayRestarts(_Options):
    _names = ("initial_learning_rate", "first_decay_steps", "t_mul", "m_mul", "alpha", "name")

    def __init__(
        self, initial_learning_rate: float, first_decay_steps: int, t_mul: float = 2.0,
        m_mul: float = 1.0, alpha: float = 0.0, name: str = "SGDRDecay",
    ) -> None:
        self.initial_learning_rate, self.first_decay_steps = initial_learning_rate, first_decay_steps
        self.t_mul, self.m_mul, self.alpha, self.name = t_mul, m_mul, alpha, name

    def rate(self, step: pm.Tensor) -> pm.Tensor:
        done = step / float(self.first_decay_steps)
        if self.t_mul == 1.0:
            restart = pm.floor(done)
            done = done - restart
        else:
            ratio = 1.0 - done * (1.0 - self.t_mul)
            restart = pm.floor(pm.log(ratio) / math.log(self.t_mul))
            power = pm.exp(restart * math.log(self.t_mul))
            done = (done - (1.0 - power) / (1.0 - self.t_mul)) / power
        scale = pm.exp(restart * math.log(self.m_mul)) if self.m_mul != 1.0 else 1.0
        cosine = (pm.cos(done * math.pi) + 1.0) * scale * 0.5
        return (cosine * (1.0 - self.alpha) + self.alpha) * float(self.initial_learning_rate)


CLASSES = {
    each.__name__: each
    for each in (ExponentialDecay, InverseTimeDecay, PiecewiseConstantDecay, PolynomialDecay,
                 CosineDecay, CosineDecayRestarts)
}


def serialize(schedule: LearningRateSchedule) -> dict[str, Any]:
    return schedule.serialized()


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    return lookup(config, CLASSES, "learning rate schedule")
