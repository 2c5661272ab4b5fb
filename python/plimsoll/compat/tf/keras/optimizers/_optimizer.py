"""What all optimizers share: the learning rate, slots, clipping, weight decay, apply_gradients."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Sequence

import numpy as np

import plimsoll as pm

from ..._variable import announce
from .._base import constant, key_of, raw, read, unique_name, variable, wrap, write
from .._config import Configured, snake_case
from . import schedules


class Optimizer(Configured):
    """Base of all. A rule of one's own overrides build(variables) and
    update_step(gradient, variable, learning_rate)."""

    squares = False

    def __init__(
        self, learning_rate: Any = 0.001, weight_decay: float | None = None, clipnorm: float | None = None,
        clipvalue: float | None = None, global_clipnorm: float | None = None, use_ema: bool = False,
        ema_momentum: float = 0.99, ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None, gradient_accumulation_steps: int | None = None,
        name: str | None = None, lr: Any = None, jit_compile: Any = None, **kwargs: Any,
    ) -> None:
        if kwargs:
            raise ValueError(f"Argument(s) not recognized: {kwargs}")
        if sum(each is not None for each in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError(
                "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
                f"clipnorm={clipnorm}, clipvalue={clipvalue}, global_clipnorm={global_clipnorm}"
            )
        if gradient_accumulation_steps and gradient_accumulation_steps < 2:
            raise ValueError("`gradient_accumulation_steps` must be an integer >= 2. Received: "
                             f"gradient_accumulation_steps={gradient_accumulation_steps}")
        if use_ema and not 0 <= ema_momentum <= 1:
            raise ValueError(f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={ema_momentum}")
        if use_ema and ema_overwrite_frequency and (
            not isinstance(ema_overwrite_frequency, int) or ema_overwrite_frequency < 1
        ):
            raise ValueError("`ema_overwrite_frequency` must be an integer >= 1 or None. Received: "
                             f"ema_overwrite_frequency={ema_overwrite_frequency}")
        self.name = name or unique_name(snake_case(type(self).__name__))
        self.weight_decay, self.clipnorm = weight_decay, clipnorm
        self.clipvalue, self.global_clipnorm = clipvalue, global_clipnorm
        self.loss_scale_factor = loss_scale_factor
        self.use_ema, self.ema_momentum = use_ema, ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.built = False
        self._trainable: list[Any] = []
        self._indices: dict[Any, int] = {}
        self._slots: list[Any] = []
        self._averages_of: list[Any] = []
        self._gathered: list[Any] = []  # gradients since the last update
        self._unlisted: list[str] = []
        self._squares: dict[Any, pm.Tensor] = {}
        self._announced = False  # whether checkpoints know of its state
        self._iterations = variable(np.zeros((), np.int64), name="iteration", trainable=False,
                                    dtype="int64")
        self._learning_rate: Any = None
        self._schedule: Any = None
        self.learning_rate = learning_rate if lr is None else lr

    # The learning rate.

    @property
    def learning_rate(self) -> Any:
        if self._schedule is not None:
            return self._schedule_rate()
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        if isinstance(value, dict):
            value = schedules.deserialize(value)
        if isinstance(value, schedules.LearningRateSchedule) or (
            callable(value) and not hasattr(value, "numpy") and not hasattr(value, "assign")
        ):
            self._schedule = value
            return
        if self._learning_rate is None:
            self._learning_rate = variable(np.asarray(_number(value), np.float32), name="learning_rate",
                                           trainable=False)
        elif value is not self._learning_rate:
            self._learning_rate.assign(np.asarray(_number(value), np.float32))
        self._schedule = None

    lr = learning_rate

    def _schedule_rate(self) -> Any:
        if isinstance(self._schedule, schedules.LearningRateSchedule):
            return self._schedule(self._iterations)
        return self._schedule()

    def _rate(self) -> pm.Tensor:
        """The rate of this step, a scalar."""
        found = raw(self._schedule_rate()) if self._schedule is not None else read(self._learning_rate)
        return found if found.dtype == pm.f32 else pm.cast(found, pm.f32)

    @property
    def iterations(self) -> Any:
        """How many updates there were."""
        if self.gradient_accumulation_steps:
            return wrap(pm.cast(self._updates(), pm.i64))
        return self._iterations

    @iterations.setter
    def iterations(self, value: Any) -> None:
        self._iterations = value

    def _updates(self, ahead: float = 0.0) -> pm.Tensor:
        """The number of updates so far, as f32."""
        found = pm.cast(read(self._iterations), pm.f32)
        if self.gradient_accumulation_steps:
            found = pm.floor((found + 0.5) * (1.0 / self.gradient_accumulation_steps))
        return found + ahead if ahead else found

    @property
    def variables(self) -> list[Any]:
        rate = [self._learning_rate] if self._learning_rate is not None else []
        return [self._iterations, *rate, *self._slots]

    # Slots.

    def build(self, variables: Iterable[Any]) -> None:
        """Makes the state for these variables."""
        self._trainable = list(variables)
        self._indices = {key_of(each): i for i, each in enumerate(self._trainable)}
        if self.use_ema:
            self._averages_of = self.add_optimizer_variables(self._trainable, "average")
        if self.gradient_accumulation_steps:
            self._gathered = self.add_optimizer_variables(self._trainable, "gradient_accumulator")
        self.built = True

    def add_variable_from_reference(
        self, reference_variable: Any, name: str | None = None, initializer: Any = "zeros", **_: Any
    ) -> Any:
        shape = [int(n) for n in reference_variable.shape]
        first = np.full(shape, initializer, np.float32) if isinstance(initializer, float) else np.zeros(
            shape, np.float32)
        made = variable(first, name=f"{reference_variable.name}_{name}", trainable=False)
        self._slots.append(made)
        return made

    def add_variable(
        self, shape: Any, initializer: Any = "zeros", dtype: Any = None, name: str | None = None, **_: Any
    ) -> Any:
        first = np.full(tuple(shape), 1.0 if initializer == "ones" else 0.0, np.float32)
        made = variable(first, name=name or "state", trainable=False, dtype=dtype)
        self._slots.append(made)
        return made

    def add_optimizer_variables(
        self, trainable_variables: Sequence[Any], name: Any, initializer: Any = "zeros"
    ) -> Any:
        """A variable for each; of several names, a tuple of lists. `variables` has them as Keras does: all of one
        weight after the other."""
        if isinstance(name, str):
            return [self.add_variable_from_reference(each, name, initializer) for each in trainable_variables]
        first = list(initializer) if isinstance(initializer, (list, tuple)) else [initializer] * len(name)
        made = [[self.add_variable_from_reference(each, *pair) for pair in zip(name, first)] for each in trainable_variables]
        return tuple([each[i] for each in made] for i in range(len(name)))

    def _get_variable_index(self, of: Any) -> int:
        return self._indices[key_of(of)]

    # A step.

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no update_step()")

    def _before(self) -> None:
        """Once for each step, before any variable."""

    def _update(self, gradient: pm.Tensor, of: Any, rate: pm.Tensor) -> None:
        """One variable's step on raw values; rules of users are given tf tensors."""
        self.update_step(wrap(gradient), of, wrap(rate))

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], **kwargs: Any) -> Any:
        """One step: gradients with their variables.

        >>> optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """
        pairs = list(grads_and_vars)
        self.apply([g for g, _ in pairs], [v for _, v in pairs])
        return self._iterations

    def apply(self, grads: Iterable[Any], trainable_variables: Iterable[Any] | None = None) -> None:
        gradients = list(grads)
        variables = self._trainable if trainable_variables is None else list(trainable_variables)
        if not gradients:
            return
        if len(gradients) != len(variables):
            raise ValueError(f"There are {len(gradients)} gradients for {len(variables)} variables")
        if all(each is None for each in gradients):
            raise ValueError("No gradients provided for any variable.")
        if not self.built:
            self.build(variables)
        if not self._announced:
            announce()
            self._announced = True
        for each in variables:
            if key_of(each) not in self._indices:
                raise ValueError(
                    f"Unknown variable: {each.name}. This optimizer can only be called for the variables "
                    "it was originally built with. When working with a new set of variables, you should "
                    "recreate a new optimizer instance."
                )
        if self._adds_squares() and not self._squares:
            for g, each in zip(gradients, variables):
                for ids, rows in getattr(g, "_keras_rows", ()):
                    add_squares(self._squares, each, ids, rows)
        self._step([None if g is None else raw(g) for g in gradients], variables)
        self._squares = {}

    def _step(self, gradients: list[pm.Tensor | None], variables: list[Any]) -> None:
        pairs = [(g, v) for g, v in zip(gradients, variables) if g is not None]
        given, moved = [g for g, _ in pairs], [v for _, v in pairs]
        if self.gradient_accumulation_steps:
            self._gather(given, moved)
        else:
            self._move(given, moved)
        if self.use_ema:
            self._follow()
        write(self._iterations, read(self._iterations) + 1)
        for each in moved:
            constraint = getattr(each, "constraint", None)
            if constraint is not None:
                write(each, raw(constraint(wrap(read(each)))))

    def _move(self, gradients: list[pm.Tensor], variables: list[Any]) -> None:
        """The update itself."""
        rate = self._rate()
        clipped = self._clip(gradients, variables)
        if self.weight_decay:
            for each in variables:
                if self._decays(each):
                    write(each, read(each) * (1.0 - rate * float(self.weight_decay)))
        self._before()
        for gradient, each in zip(clipped, variables):
            self._update(gradient, each, rate)

    def _gather(self, gradients: list[pm.Tensor], variables: list[Any]) -> None:
        """Adds the gradients up; every gradient_accumulation_steps-th time their mean is applied. It is
        computed each time and kept where it is due, so that all steps are one plan."""
        steps = float(self.gradient_accumulation_steps or 1)
        due = _every(pm.cast(read(self._iterations), pm.f32) + 1.0, steps)
        sums = [self._gathered[self._get_variable_index(v)] for v in variables]
        totals = [g + read(total) for g, total in zip(gradients, sums)]
        apart = {id(each) for each in (*self._gathered, *self._averages_of)}
        states = [*variables, *(each for each in self._slots if id(each) not in apart)]
        before = [read(each) * 1 for each in states]
        self._move([each * (1.0 / steps) for each in totals], variables)
        for each, old in zip(states, before):
            write(each, pm.where(due, read(each), old))
        for total, value in zip(sums, totals):
            write(total, pm.where(due, pm.zeros_like(value), value))

    def _follow(self) -> None:
        """Moves the averages of the weights (use_ema) towards them, and the weights to their averages where
        ema_overwrite_frequency says so."""
        done = self._updates()
        kept = pm.where(done > 0.5, pm.full((), float(self.ema_momentum)), pm.zeros(()))
        for each, average in zip(self._trainable, self._averages_of):
            write(average, read(average) * kept + read(each) * (1.0 - kept))
        if self.ema_overwrite_frequency:
            due = _every(done + 1.0, float(self.ema_overwrite_frequency))
            for each, average in zip(self._trainable, self._averages_of):
                write(each, pm.where(due, read(average), read(each) * 1))

    def finalize_variable_values(self, var_list: Sequence[Any]) -> None:
        """At the end of training: with use_ema the weights become their averages."""
        if self.use_ema and self.built:
            for each in var_list:
                each.assign(self._averages_of[self._get_variable_index(each)])

    def _square(self, gradient: pm.Tensor, of: Any) -> pm.Tensor:
        """The square of a gradient. Of an embedding it is the sum of the squares of each lookup, since
        TensorFlow squares such gradients before it adds them up."""
        found = self._squares.get(key_of(of))
        return pm.square(gradient) if found is None else found

    def _adds_squares(self) -> bool:
        """Whether squares of lookups are wanted: by rules that have them, where gradients stay those of rows."""
        clips = (self.clipvalue, self.global_clipnorm)
        return self.squares and not self.gradient_accumulation_steps and all(each is None for each in clips)

    def _clip(self, gradients: list[pm.Tensor], variables: list[Any]) -> list[pm.Tensor]:
        if self.clipnorm and self.clipnorm > 0:
            most, clipped = float(self.clipnorm), []
            for g, each in zip(gradients, variables):
                squares = self._squares.get(key_of(each))
                total = pm.sum(pm.square(g) if squares is None else squares)
                clipped.append(_by_norm(g, total, most))
                if squares is not None:
                    self._squares[key_of(each)] = _by_norm(_by_norm(squares, total, most), total, most)
            return clipped
        if self.global_clipnorm and self.global_clipnorm > 0:
            total = pm.sum(pm.stack([pm.sum(pm.square(g)) for g in gradients]))
            return [_by_norm(g, total, float(self.global_clipnorm)) for g in gradients]
        if self.clipvalue and self.clipvalue > 0:
            return [pm.clip(g, -float(self.clipvalue), float(self.clipvalue)) for g in gradients]
        return gradients

    def exclude_from_weight_decay(
        self, var_list: Sequence[Any] | None = None, var_names: Sequence[str] | None = None
    ) -> None:
        """Variables that do not decay: by themselves, or by a part of their name."""
        self._unlisted = list(var_names or ()) + [each.name for each in var_list or ()]

    def _decays(self, of: Any) -> bool:
        return not any(part in of.name for part in self._unlisted)

    def minimize(self, loss: Callable[[], Any], var_list: Any, tape: Any = None) -> Any:
        """A step down a loss: a function without arguments, or a tensor with its tape."""
        from ..._tape import GradientTape

        if callable(loss):
            with GradientTape() as own:
                value = loss()
            tape = own
        else:
            value = loss
            if tape is None:
                raise ValueError("`tape` is required when a `Tensor` loss is passed.")
        variables = list(var_list() if callable(var_list) else var_list)
        return self.apply_gradients(zip(tape.gradient(value, variables), variables))

    def set_weights(self, weights: Sequence[Any]) -> None:
        for each, value in zip(self.variables, weights):
            each.assign(value)

    def get_weights(self) -> list[Any]:
        return [each.numpy() for each in self.variables]

    def assign(self, variable: Any, value: Any) -> None:
        variable.assign(value)

    def assign_add(self, variable: Any, value: Any) -> None:
        variable.assign_add(value)

    def assign_sub(self, variable: Any, value: Any) -> None:
        variable.assign_sub(value)

    def scale_loss(self, loss: Any) -> Any:
        return loss

    def get_config(self) -> dict[str, Any]:
        if isinstance(self._schedule, schedules.LearningRateSchedule):
            rate: Any = schedules.serialize(self._schedule)
        else:
            rate = float(self._learning_rate.numpy())
        return {
            "name": self.name, "learning_rate": rate, "weight_decay": self.weight_decay,
            "clipnorm": self.clipnorm, "global_clipnorm": self.global_clipnorm,
            "clipvalue": self.clipvalue, "use_ema": self.use_ema, "ema_momentum": self.ema_momentum,
            "ema_overwrite_frequency": self.ema_overwrite_frequency,
            "gradient_accumulation_steps": self.gradient_accumulation_steps,
            "loss_scale_factor": self.loss_scale_factor,
        }


def _number(value: Any) -> float:
    return float(value.numpy()) if hasattr(value, "numpy") else float(value)


def _by_norm(g: pm.Tensor, squares: pm.Tensor, most: float) -> pm.Tensor:
    return g * (pm.reciprocal(pm.maximum(pm.sqrt(squares), most)) * most)


def add_squares(squares: dict[Any, pm.Tensor], table: Any, ids: pm.Tensor, rows: pm.Tensor | None) -> None:
    """Adds to `squares` of an embedding the squares of the gradients of the rows of one lookup."""
    if rows is None:
        return
    flat = pm.square(rows).reshape((ids.size, rows.shape[-1]))
    flat = flat if flat.dtype == pm.f32 else pm.cast(flat, pm.f32)
    found = pm.scatter_add(flat, ids.reshape((ids.size,)), tuple(table._variable.shape))
    key = key_of(table)
    squares[key] = found if key not in squares else squares[key] + found


def _every(count: pm.Tensor, steps: float) -> pm.Tensor:
    """Whether a count, a whole number in f32, is a multiple of steps."""
    return count - pm.floor((count + 0.5) * (1.0 / steps)) * steps < 0.5


def scalar(value: float) -> pm.Tensor:
    return constant(value)
