"""What compile() was told, made fit for the outputs: a loss, and metrics, for each."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

import plimsoll as pm

from ... import _nest
from ..._tensor import Tensor
from .. import losses as losses_module, metrics as metrics_module
from .._base import raw, wrap
from ..losses import Loss, mask_of, reduce_weighted
from ..metrics import Mean, MeanMetricWrapper, Metric


def per_output(given: Any, y_pred: Any, names: list[str], what: str) -> list[Any]:
    """One of `given` for each output: of a list, a dict by name, or the same for all."""
    flat = _nest.flatten(y_pred)
    if isinstance(y_pred, dict):
        keys = sorted(y_pred)
    else:
        keys = names if len(names) == len(flat) else [f"output_{i}" for i in range(len(flat))]
    if isinstance(given, dict):
        unknown = [key for key in given if key not in keys]
        if unknown:
            raise ValueError(f"In the dict argument `{what}`, key {unknown[0]!r} does not correspond to any "
                             f"model output. Known outputs: {keys}")
        return [given.get(key) for key in keys]
    if isinstance(given, (list, tuple)) and len(flat) > 1:
        if len(given) != len(flat):
            raise ValueError(f"`{what}` has {len(given)} entries for {len(flat)} outputs")
        return list(given)
    if isinstance(given, (list, tuple)) and len(given) == 1 and what == "loss":
        return list(given)
    return [given] * len(flat)


class CompiledLoss:
    """The sum of the losses of all outputs."""

    def __init__(self, loss: Any, weights: Any) -> None:
        self.loss, self.weights = loss, weights
        self._built: list[Any] | None = None
        self.trackers: list[Mean] = []

    def build(self, y_pred: Any, names: list[str]) -> None:
        if self._built is not None:
            return
        found = per_output(self.loss, y_pred, names, "loss")
        self._built = [None if each is None else losses_module.get(each) for each in found]
        if isinstance(self.weights, (int, float)):
            self._weights: list[Any] = [self.weights]
        else:
            self._weights = per_output(self.weights, y_pred, names, "loss_weights")
        if len(found) > 1:
            shown = sorted(y_pred) if isinstance(y_pred, dict) else names
            self.trackers = [Mean(name=f"{name}_loss") for name, each in zip(shown, self._built)
                             if each is not None]

    @property
    def metrics(self) -> list[Mean]:
        """The trackers as Keras lists them: of outputs in a dict in the order of the dict of losses."""
        if not isinstance(self.loss, dict):
            return self.trackers
        order = [f"{name}_loss" for name in self.loss]
        return sorted(self.trackers, key=lambda each: order.index(each.name) if each.name in order else len(order))

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any, names: list[str]) -> Any:
        if y_pred is None:
            raise ValueError("the model's call() gave None; is there a `return`?")
        self.build(y_pred, names)
        assert self._built is not None
        predictions = _nest.flatten(y_pred)
        if isinstance(y_true, dict) and not isinstance(y_pred, dict):
            targets = [y_true.get(name) for name in names]
        else:
            targets = _nest.flatten(y_true)
        if len(targets) != len(predictions):
            raise ValueError(f"The model has {len(predictions)} outputs, and y has {len(targets)} parts")
        if isinstance(sample_weight, dict):
            sample_weights = [sample_weight.get(name) for name in names]
        else:
            sample_weights = _nest.flatten(sample_weight) if isinstance(sample_weight, (list, tuple)) else [
                sample_weight] * len(targets)
        total: pm.Tensor | None = None
        trackers = iter(self.trackers)
        for f, t, p, w, scale in zip(self._built, targets, predictions, sample_weights, self._weights):
            if f is None:
                continue
            t, p = aligned(t, p)
            if isinstance(f, Loss):
                value = raw(f(t, p, sample_weight=w))
            else:
                values = f(t, p)
                value = raw(reduce_weighted(values, w, mask_of(p, values), "sum_over_batch_size"))
            if value.ndim:
                value = pm.mean(value)
            value = value if value.dtype == pm.f32 else pm.cast(value, pm.f32)
            if self.trackers:
                next(trackers).update_state(wrap(value), float(raw(p).shape[0]))
            value = value if scale is None else value * float(scale)
            total = value if total is None else total + value
        if total is None:
            raise ValueError("No loss to compute: compile(loss=...) names none for any output")
        return wrap(total)


def aligned(t: Any, p: Any) -> tuple[Any, Any]:
    """Targets of one number less or more in their shape than predictions, as Keras aligns them."""
    t = t if isinstance(t, Tensor) else wrap(raw(t))
    a, b = raw(t), raw(p)
    if a.ndim == b.ndim - 1 and b.shape[-1] == 1:
        mask = getattr(t, "_keras_mask", None)
        t = wrap(a.reshape((*a.shape, 1)))
        if mask is not None:
            t._keras_mask = mask
    return t, p


class CompiledMetrics(Metric):
    """The metrics of compile() as one of the model's metrics, as Keras 3 has it: for each output its own,
    made when it is known what the outputs are. `names` gives the names of the outputs."""

    def __init__(self, metrics: Any, weighted: Any, names: Callable[[], list[str]]) -> None:
        super().__init__(name="compile_metrics")
        self._given, self._names = (metrics, weighted), names
        self._built: list[tuple[int, list[Metric], bool]] | None = None
        self.several = False  # outputs, whose names are part of their metrics' names

    @property
    def metrics(self) -> list[Metric]:
        return [each for _, found, _ in self._built or [] for each in found]

    @property
    def variables(self) -> list[Any]:
        return [v for each in self.metrics for v in each.variables]

    def reset_state(self) -> None:
        for each in self.metrics:
            each.reset_state()

    def result(self) -> dict[str, Any]:
        """The results of all, by name; none before there were predictions."""
        found: dict[str, Any] = {}
        for each in self.metrics:
            result = each.result()
            found.update(result if isinstance(result, dict) else {each.name: result})
        return found

    def _build(self, y_true: Any, y_pred: Any, names: list[str]) -> None:
        if self._built is not None:
            return
        predictions = _nest.flatten(y_pred)
        targets = _targets(y_true, y_pred, names)
        shown = sorted(y_pred) if isinstance(y_pred, dict) else names
        self.several = len(predictions) > 1
        built = []
        for given, weighted in zip(self._given, (False, True)):
            if not given:
                continue
            for i, listed in enumerate(_metric_lists(given, y_pred, names)):
                found = []
                for each in listed:
                    made = _metric(each, targets[i], predictions[i])
                    if made is None:
                        continue
                    if len(predictions) > 1 and not isinstance(each, Metric):
                        made.name = f"{shown[i]}_{made.name}"
                    elif len(predictions) > 1 and not made.name.startswith(f"{shown[i]}_"):
                        made.name = f"{shown[i]}_{made.name}"
                    found.append(made)
                built.append((i, found, weighted))
        self._built = built

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        names = self._names()
        self._build(y_true, y_pred, names)
        assert self._built is not None
        predictions, targets = _nest.flatten(y_pred), _targets(y_true, y_pred, names)
        for i, found, weighted in self._built:
            for each in found:
                weight = sample_weight[i] if isinstance(sample_weight, (list, tuple)) else sample_weight
                each.update_state(targets[i], predictions[i], sample_weight=weight if weighted else None)


def _targets(y_true: Any, y_pred: Any, names: list[str]) -> list[Any]:
    if isinstance(y_true, dict) and not isinstance(y_pred, dict):
        return [y_true.get(name) for name in names]
    return _nest.flatten(y_true)


def _metric_lists(given: Any, y_pred: Any, names: list[str]) -> list[list[Any]]:
    count = len(_nest.flatten(y_pred))
    if isinstance(given, dict):
        found = per_output(given, y_pred, names, "metrics")
    elif count == 1:
        found = [given[0] if isinstance(given, (list, tuple)) and len(given) == 1 and isinstance(
            given[0], (list, tuple)) else given]
    elif isinstance(given, (list, tuple)) and len(given) == count:
        found = list(given)
    elif not isinstance(given, (list, tuple)):
        found = [given] * count
    else:
        raise ValueError(f"metrics has {len(given)} entries for {count} outputs: give a list of lists")
    return [[] if each is None else list(each) if isinstance(each, (list, tuple)) else [each]
            for each in found]


def _metric(given: Any, y_true: Any, y_pred: Any) -> Metric | None:
    """The metric that a name means for such targets and predictions."""
    if given is None or isinstance(given, Metric):
        return given
    if isinstance(given, str) and given.lower() in ("accuracy", "acc", "crossentropy", "ce"):
        t, p = raw(y_true), raw(y_pred)
        binary = p.ndim == 0 or p.shape[-1] == 1
        sparse = not binary and (t.ndim < p.ndim or t.shape[-1] == 1)
        kind = "Accuracy" if given.lower() in ("accuracy", "acc") else "Crossentropy"
        name = ("Binary" if binary else "SparseCategorical" if sparse else "Categorical") + kind
        made: Metric = getattr(metrics_module, name)(name=given)
        return made
    found = metrics_module.get(given)
    if isinstance(found, Metric):
        if isinstance(given, str):
            found.name = given
        return found
    return MeanMetricWrapper(found, name=given if isinstance(given, str) else getattr(found, "name", None))


def class_weights(y: Any, table: Any) -> Any:
    """A weight for each sample by its class. Traced with the step."""
    labels = raw(y)
    if labels.ndim > 1 and labels.shape[-1] > 1:
        labels = pm.argmax(labels, axis=-1)
    labels = labels.reshape((labels.size,))
    if labels.dtype not in (pm.i32, pm.i64):
        labels = pm.cast(pm.round(labels) if labels.dtype in (pm.f32, pm.f64) else labels, pm.i64)
    # Classes that the table does not have weigh 1: its last entry.
    return wrap(pm.gather(pm.tensor(table), pm.minimum(labels, len(table) - 1)))


def class_table(class_weight: dict[int, float]) -> Any:
    """The weights by class, and a 1 for all classes beyond them."""
    if not isinstance(class_weight, dict) or not class_weight:
        raise ValueError("`class_weight` must be a dict of weights by class, such as {0: 1.0, 1: 5.0}. Received: "
                         f"class_weight={class_weight}")
    size = max(int(key) for key in class_weight) + 2
    made = np.ones(size, np.float32)
    for key, value in class_weight.items():
        made[int(key)] = value
    return made
