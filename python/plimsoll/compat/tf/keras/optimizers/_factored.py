"""Adafactor: second moments of matrices as those of their rows and columns."""

from __future__ import annotations

from typing import Any

import plimsoll as pm

from .._base import read, write
from ._rules import Ruled


def _size(x: pm.Tensor) -> pm.Tensor:
    return pm.sqrt(pm.mean(pm.square(x)))


class Adafactor(Ruled):
    """Shazeer and Stern 2018. Where Keras has a slot of the weight's size beside those of rows and columns, there
    is none: it is computed from them."""

    def __init__(
        self, learning_rate: Any = 0.001, beta_2_decay: float = -0.8, epsilon_1: float = 1e-30, epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0, relative_step: bool = True, **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, **kwargs)
        self._keep(beta_2_decay=beta_2_decay, epsilon_1=epsilon_1, epsilon_2=epsilon_2, clip_threshold=clip_threshold,
                   relative_step=relative_step)
        self.beta_2_decay, self.epsilon_1, self.epsilon_2 = beta_2_decay, epsilon_1, epsilon_2
        self.clip_threshold, self.relative_step = clip_threshold, relative_step

    def build(self, variables: Any) -> None:
        super().build(variables)
        self._moments: list[tuple[Any, ...]] = []
        for each in self._trainable:
            shape = [int(n) for n in each.shape]
            parts = [shape] if len(shape) < 2 else [shape[:-1], [*shape[:-2], shape[-1]]]
            self._moments.append(tuple(self.add_variable(part, name=f"{each.name}_moment") for part in parts))

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        step = self._count()
        slowing = pm.reciprocal(pm.sqrt(step))
        kept = 1.0 - power_of(step, self.beta_2_decay)
        squares = pm.square(gradient) + self.epsilon_1
        moments = self._moments[self._get_variable_index(of)]
        if len(moments) == 1:
            (moment,) = moments
            write(moment, read(moment) * kept + squares * (1.0 - kept))
            second = read(moment)
        else:
            for moment, axis in zip(moments, (-1, -2)):
                write(moment, read(moment) * kept + pm.mean(squares, axis=axis) * (1.0 - kept))
            rows, columns = (read(each) for each in moments)
            share = rows / pm.mean(rows, axis=-1, keepdims=True)
            second = share.reshape((*share.shape, 1)) * columns.reshape(
                (*columns.shape[:-1], 1, columns.shape[-1]))
        moved = gradient / pm.sqrt(second)
        moved = moved / pm.maximum(_size(moved) * (1.0 / self.clip_threshold), 1.0)
        length = pm.maximum(_size(read(of)), self.epsilon_2) * pm.minimum(rate, slowing)
        write(of, read(of) - moved * length)


def power_of(base: pm.Tensor, exponent: float) -> pm.Tensor:
    return pm.pow(base, pm.zeros_like(base) + exponent)
