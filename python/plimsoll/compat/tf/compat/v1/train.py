"""tf.compat.v1.train: optimizers of graphs, and savers."""

from __future__ import annotations

from typing import Any

from ... import _names
from ..._average import ExponentialMovingAverage
from ..._control import group
from ..._errors import unsupported
from ..._graph import default_graph, graph_mode, symbolic_gradients
from ..._math import cast
from ..._operators import sqrt, square
from ..._saver import Saver, checkpoint_exists, get_checkpoint_state, latest_checkpoint
from ..._tape import GradientTape
from ..._variable import Variable
from ... import train as _train
from ...train import Checkpoint, CheckpointManager, Coordinator

__all__ = [
    "AdagradOptimizer", "AdamOptimizer", "Checkpoint", "CheckpointManager", "Coordinator",
    "ExponentialMovingAverage", "GradientDescentOptimizer", "MomentumOptimizer", "Optimizer", "RMSPropOptimizer", "Saver",
    "checkpoint_exists", "create_global_step", "exponential_decay", "get_checkpoint_state",
    "get_global_step", "get_or_create_global_step", "global_step", "latest_checkpoint",
    "piecewise_constant", "polynomial_decay",
]


def get_global_step(graph: Any = None) -> Any:
    found = (graph or default_graph()).get_collection("global_step")
    return found[0] if found else None


def create_global_step(graph: Any = None) -> Any:
    made = Variable(0, trainable=False, name="global_step", dtype="int64", collections=["variables", "global_step"] if graph_mode() else None)
    if not graph_mode():
        default_graph().add_to_collection("global_step", made)
    return made


def get_or_create_global_step(graph: Any = None) -> Any:
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def global_step(sess: Any, global_step_tensor: Any) -> int:
    return int(sess.run(global_step_tensor))


class Optimizer:
    """Base of the optimizers: minimize() is an op of the graph, or changes variables at once."""

    def __init__(self, use_locking: bool = False, name: str = "Optimizer") -> None:
        self._name = name
        self._slots: dict[tuple[int, str], Variable] = {}
        self._shared: dict[str, Variable] = {}

    def get_name(self) -> str:
        return self._name

    def minimize(
        self, loss: Any, global_step: Any = None, var_list: Any = None, gate_gradients: Any = 1,
        aggregation_method: Any = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        found = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        if all(gradient is None for gradient, _ in found):
            raise ValueError(f"No gradients provided for any variable, check your graph for ops that do not support gradients, between variables {[v.name for _, v in found]} and loss {loss}.")
        return self.apply_gradients(found, global_step, name)

    def compute_gradients(
        self, loss: Any, var_list: Any = None, gate_gradients: Any = 1, aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False, grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """(gradient, variable) for each variable that is trained."""
        if callable(loss):
            with GradientTape() as tape:
                value = loss()
            variables = list(var_list() if callable(var_list) else var_list or tape.watched_variables())
            return list(zip(tape.gradient(value, variables), variables))
        if not graph_mode():
            raise RuntimeError("`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled.")
        variables = list(var_list or default_graph().get_collection("trainable_variables"))
        if not variables:
            raise ValueError("No variables to optimize.")
        return list(zip(symbolic_gradients(loss, variables, grad_loss), variables))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Changes the variables by their gradients."""
        pairs = [(gradient, variable) for gradient, variable in grads_and_vars if gradient is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        updates = [*self._prepare()]
        for gradient, variable in pairs:
            updates += self._update(gradient, variable)
        updates += self._finish()
        if global_step is not None:
            updates.append(global_step.assign_add(1))
        return group(*updates, name=name or self._name) if graph_mode() else None

    def variables(self) -> list[Variable]:
        return [*self._slots.values(), *self._shared.values()]

    def get_slot_names(self) -> list[str]:
        return sorted({name for _, name in self._slots})

    def get_slot(self, var: Any, name: str) -> Any:
        return self._slots.get((id(var), name))

    def _slot(self, variable: Any, name: str, value: float = 0.0) -> Variable:
        key = (id(variable), name)
        if key not in self._slots:
            from ..._create import fill
            from ..._convert import constant

            dims = variable.shape.as_list()
            self._slots[key] = Variable(lambda: fill(dims, constant(value, variable.dtype)), trainable=False, name=f"{variable.name.split(':')[0]}/{self._name}")
        return self._slots[key]

    def _number(self, name: str, value: float) -> Variable:
        if name not in self._shared:
            self._shared[name] = Variable(value, trainable=False, name=name, dtype="float32")
        return self._shared[name]

    def _rate(self, variable: Any) -> Any:
        rate = getattr(self, "_lr")
        rate = rate() if callable(rate) else rate
        return cast(rate, variable.dtype) if hasattr(rate, "dtype") and hasattr(rate, "shape") and not isinstance(rate, float) else rate

    def _prepare(self) -> list[Any]:
        return []

    def _finish(self) -> list[Any]:
        return []

    def _update(self, gradient: Any, variable: Any) -> list[Any]:
        raise NotImplementedError


class GradientDescentOptimizer(Optimizer):
    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate

    def _update(self, gradient: Any, variable: Any) -> list[Any]:
        return [variable.assign_sub(gradient * self._rate(variable))]


class MomentumOptimizer(Optimizer):
    def __init__(self, learning_rate: Any, momentum: Any, use_locking: bool = False, name: str = "Momentum", use_nesterov: bool = False) -> None:
        super().__init__(use_locking, name)
        self._lr, self._momentum, self._nesterov = learning_rate, momentum, use_nesterov

    def _update(self, gradient: Any, variable: Any) -> list[Any]:
        slot = self._slot(variable, "Momentum")
        moved = slot * self._momentum + gradient
        step = gradient + moved * self._momentum if self._nesterov else moved
        step = step * self._rate(variable)
        return [slot.assign(moved), variable.assign_sub(step)]


class AdagradOptimizer(Optimizer):
    def __init__(self, learning_rate: Any, initial_accumulator_value: float = 0.1, use_locking: bool = False, name: str = "Adagrad") -> None:
        super().__init__(use_locking, name)
        self._lr, self._first = learning_rate, initial_accumulator_value

    def _update(self, gradient: Any, variable: Any) -> list[Any]:
        slot = self._slot(variable, "Adagrad", self._first)
        total = slot + square(gradient)
        step = gradient * self._rate(variable) / sqrt(total)
        return [slot.assign(total), variable.assign_sub(step)]


class RMSPropOptimizer(Optimizer):
    def __init__(self, learning_rate: Any, decay: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-10, use_locking: bool = False, centered: bool = False, name: str = "RMSProp") -> None:
        super().__init__(use_locking, name)
        self._lr, self._decay, self._momentum = learning_rate, decay, momentum
        self._epsilon, self._centered = epsilon, centered

    def _update(self, gradient: Any, variable: Any) -> list[Any]:
        square_mean = self._slot(variable, "rms", 1.0)
        center = self._slot(variable, "mg") if self._centered else None
        moved = self._slot(variable, "momentum")
        mean = square_mean * self._decay + square(gradient) * (1 - self._decay)
        updates = []
        spread = mean
        if center is not None:
            middle = center * self._decay + gradient * (1 - self._decay)
            spread = mean - square(middle)
            updates.append((center, middle))
        step = moved * self._momentum + gradient * self._rate(variable) / sqrt(spread + self._epsilon)
        updates += [(square_mean, mean), (moved, step)]
        written = [variable.assign_sub(step)]
        return written + [slot.assign(value) for slot, value in updates]


class AdamOptimizer(Optimizer):
    def __init__(self, learning_rate: Any = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, use_locking: bool = False, name: str = "Adam") -> None:
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _prepare(self) -> list[Any]:
        power1, power2 = self._number("beta1_power", self._beta1), self._number("beta2_power", self._beta2)
        self._correction = sqrt(1.0 - power2) / (1.0 - power1)
        return []

    def _finish(self) -> list[Any]:
        power1, power2 = self._shared["beta1_power"], self._shared["beta2_power"]
        return [power1.assign(power1 * self._beta1), power2.assign(power2 * self._beta2)]

    def _update(self, gradient: Any, variable: Any) -> list[Any]:
        m, v = self._slot(variable, "m"), self._slot(variable, "v")
        mean = m * self._beta1 + gradient * (1 - self._beta1)
        spread = v * self._beta2 + square(gradient) * (1 - self._beta2)
        rate = cast(self._correction, variable.dtype) * self._rate(variable)
        step = mean * rate / (sqrt(spread) + self._epsilon)
        return [variable.assign_sub(step), m.assign(mean), v.assign(spread)]


def _decayed(learning_rate: Any, global_step: Any, decay_steps: Any) -> Any:
    return cast(global_step, "float32") / float(decay_steps)


def exponential_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None) -> Any:
    """A learning rate that falls by a factor every decay_steps steps."""
    from ..._math import floor
    from ..._operators import pow

    def rate() -> Any:
        share = _decayed(learning_rate, global_step, decay_steps)
        return learning_rate * pow(float(decay_rate), floor(share) if staircase else share)

    return rate() if graph_mode() else rate


def polynomial_decay(learning_rate: Any, global_step: Any, decay_steps: Any, end_learning_rate: float = 0.0001, power: float = 1.0, cycle: bool = False, name: str | None = None) -> Any:
    from ..._operators import minimum, pow

    if cycle:
        unsupported("tf.compat.v1.train.polynomial_decay", "cycle")

    def rate() -> Any:
        share = minimum(_decayed(learning_rate, global_step, decay_steps), 1.0)
        return (learning_rate - end_learning_rate) * pow(1.0 - share, float(power)) + end_learning_rate

    return rate() if graph_mode() else rate


def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Any:
    from ..._arrays import where
    from ..._convert import constant

    def rate() -> Any:
        found = constant(float(values[0]))
        for limit, value in zip(boundaries, values[1:]):
            found = where(cast(x, "float32") > float(limit), constant(float(value)), found)
        return found

    return rate() if graph_mode() else rate


def inverse_time_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None) -> Any:
    from ..._math import floor

    def rate() -> Any:
        share = _decayed(learning_rate, global_step, decay_steps)
        return learning_rate / (1.0 + float(decay_rate) * (floor(share) if staircase else share))

    return rate() if graph_mode() else rate


def cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0, name: str | None = None) -> Any:
    import math

    from ..._math import cos
    from ..._operators import minimum

    def rate() -> Any:
        share = minimum(_decayed(learning_rate, global_step, decay_steps), 1.0)
        return learning_rate * ((1 - alpha) * 0.5 * (1.0 + cos(share * math.pi)) + alpha)

    return rate() if graph_mode() else rate


piecewise_constant_decay = piecewise_constant
_AS_IN_TF2 = (
    "BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList", "Int64List", "SequenceExample",
    "list_variables", "load_variable",
)


def __getattr__(name: str) -> Any:
    if name in _AS_IN_TF2:
        return getattr(_train, name)
    _names.missing(f"tf.compat.v1.train.{name}", __all__)
