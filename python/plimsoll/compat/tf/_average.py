"""tf.train.ExponentialMovingAverage: averages of variables that follow them slowly, in graphs and outside."""

from __future__ import annotations

from typing import Any

from ._control import group
from ._errors import unsupported
from ._graph import default_graph, graph_mode
from ._math import cast
from ._operators import minimum
from ._variable import Variable


class ExponentialMovingAverage:
    """Averages of variables that follow them slowly.

    >>> ema = tf.train.ExponentialMovingAverage(0.99)
    >>> ema.apply([w]); ema.average(w)
    """

    def __init__(
        self, decay: float, num_updates: Any = None, zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        if zero_debias:
            unsupported("tf.train.ExponentialMovingAverage", "zero_debias", "averages of variables begin at their values")
        self._decay, self._updates, self._name = decay, num_updates, name
        self._kept: list[tuple[Variable, Variable]] = []

    @property
    def name(self) -> str:
        return self._name

    def _share(self) -> Any:
        """How much of an average stays in one update."""
        if self._updates is None:
            return self._decay
        given = self._updates
        done = cast(given.read_value() if isinstance(given, Variable) else given, "float32")
        return minimum(self._decay, (1.0 + done) / (10.0 + done))

    def apply(self, var_list: Any = None) -> Any:
        """Makes averages of variables where there are none yet, and moves them: an op of the graph, or now."""
        if var_list is None:
            if not graph_mode():
                raise ValueError("apply() needs the list of variables outside of a graph")
            var_list = default_graph().get_collection("trainable_variables")
        lost = 1.0 - self._share()
        updates = []
        for each in var_list:
            if not isinstance(each, Variable):
                unsupported("tf.train.ExponentialMovingAverage of a tensor", way="assign it to a tf.Variable")
            average = self.average(each)
            if average is None:
                first = each.initialized_value() if graph_mode() else each.read_value()
                average = Variable(first, trainable=False, name=self.average_name(each))
                self._kept.append((each, average))
            updates.append(average.assign_sub((average - each.read_value()) * lost))
        return group(*updates, name=self._name) if graph_mode() else None

    def average(self, var: Variable) -> Variable | None:
        """The variable with the average of another, or None."""
        return next((average for each, average in self._kept if each is var), None)

    def average_name(self, var: Variable) -> str:
        return f"{var.name.split(':')[0]}/{self._name}"

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """Names of a checkpoint with variables: averages are read into the variables they belong to."""
        followed = list(moving_avg_variables or (each for each, _ in self._kept))
        found = {self.average_name(each): each for each in followed}
        own = {id(each) for each in followed} | {id(average) for _, average in self._kept}
        for each in default_graph().get_collection("variables"):
            if id(each) not in own:
                found[each.name.split(":")[0]] = each
        return found
