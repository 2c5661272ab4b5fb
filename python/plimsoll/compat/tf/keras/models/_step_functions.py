"""What a step of a model computes: its loss, its metrics, its gradients. Models of one's own override these."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import plimsoll as pm

from ... import _custom
from .. import optimizers
from .._base import calls, raw, wrap
from ._compile import CompiledLoss, CompiledMetrics
from ._data import unpack
from ._step import part_of, rows_of
from ._training_parts import looked_up


class StepFunctions:
    """train_step, test_step, predict_step, and what they are made of."""

    name: str
    optimizer: Any
    _loss_tracker: Any
    _compiled_loss: CompiledLoss | None
    _compiled_metrics: CompiledMetrics | None

    @property
    def metrics(self) -> list[Any]:
        """The loss, the metrics of compile(), and those of layers."""
        found = [] if self._loss_tracker is None else [self._loss_tracker]
        found += [self._compiled_metrics] if self._compiled_metrics is not None else []
        found += self._compiled_loss.metrics if self._compiled_loss is not None else []
        for each in self._flatten_layers():  # type: ignore[attr-defined]
            found += each._metrics
        return found

    @property
    def metrics_names(self) -> list[str]:
        return [each.name for each in self.metrics]

    def reset_metrics(self) -> None:
        for each in self.metrics:
            each.reset_state()

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """The loss of compile(), and what layers and weights add to it."""
        parts = []
        if self._compiled_loss is not None:
            if y is None and self._compiled_loss.loss is not None:
                raise ValueError("the loss needs targets, and the data has none: give fit() a `y`")
            parts.append(self._compiled_loss(y, y_pred, sample_weight, self._output_names()))
        parts.extend(self.losses)  # type: ignore[attr-defined]
        if not parts:
            raise ValueError("No loss to compute. Provide a `loss` argument in `compile()`.")
        total = raw(parts[0])
        total = total if total.dtype == pm.f32 else pm.cast(total, pm.f32)
        for each in parts[1:]:
            more = raw(each)
            more = more if more.dtype == pm.f32 else pm.cast(more, pm.f32)
            total = total + (pm.mean(more) if more.ndim else more)
        return wrap(total)

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Updates the metrics of compile() and gives all results."""
        if self._compiled_metrics is not None and y is not None:
            self._compiled_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def _update_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any) -> None:
        if type(self).compute_metrics is not StepFunctions.compute_metrics:
            self.compute_metrics(x, y, y_pred, sample_weight)
        elif self._compiled_metrics is not None and y is not None:
            self._compiled_metrics.update_state(y, y_pred, sample_weight)

    def get_metrics_result(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for each in self.metrics:
            result = each.result()
            if isinstance(result, dict):
                found.update(result)
            else:
                found[each.name] = result
        return found

    def _output_names(self) -> list[str]:
        found: list[str] = self.output_names  # type: ignore[attr-defined]
        return found

    def _forward(self, x: Any, training: bool) -> Any:
        names, anything = self._call_names()  # type: ignore[attr-defined]
        if "training" in names or anything:
            return self(x, training=training)  # type: ignore[operator]
        before, calls.training = calls.training, training
        try:
            return self(x)  # type: ignore[operator]
        finally:
            calls.training = before

    def train_step(self, data: Any) -> Any:
        """One step on a batch. Overriding it changes what fit() does."""
        self._train(data, 1)
        return self.get_metrics_result()

    def _train(self, data: Any, parts: int) -> None:
        """The step of compile()'s loss and optimizer, on a batch or on parts of it in turn."""
        variables = self.trainable_weights  # type: ignore[attr-defined]
        totals: list[Any] = [None] * len(variables)
        squares: dict[Any, pm.Tensor] = {}
        for index in range(parts):
            x, y, weight = unpack(data if parts == 1 else part_of(data, index, parts))
            with _custom.tape() as tape, looked_up(self.optimizer._adds_squares()) as rows:
                y_pred = self._forward(x, True)
                loss = self._loss(x, y, y_pred, weight, True)
                scaled = raw(self.optimizer.scale_loss(loss))
                if parts > 1:
                    scaled = scaled * (rows_of(x) / rows_of(data))
            self._loss_tracker.update_state(loss, float(rows_of(x)))
            if variables:
                own = [each._variable for each in variables]
                found = _custom.gradients(tape, scaled, [*own, *(each for _, _, each in rows)])
                for (table, ids, _), each in zip(rows, found[len(own):]):
                    optimizers.add_squares(squares, table, ids, each)
                for i, each in enumerate(found[: len(own)]):
                    if each is not None:
                        totals[i] = each if totals[i] is None else totals[i] + each
            self._update_metrics(x, y, y_pred, weight)
        if variables:
            missing = [v.path for v, g in zip(variables, totals) if g is None]
            if missing and len(missing) == len(variables):
                raise ValueError("No gradients provided for any variable: the loss depends on none of them")
            self.optimizer._squares = squares
            self.optimizer.apply([None if each is None else wrap(each) for each in totals], variables)
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)

    def test_step(self, data: Any) -> Any:
        self._test(data)
        return self.get_metrics_result()

    def _test(self, data: Any) -> None:
        x, y, weight = unpack(data)
        y_pred = self._forward(x, False)
        loss = self._loss(x, y, y_pred, weight, False)
        self._loss_tracker.update_state(loss, float(rows_of(x)))
        self._update_metrics(x, y, y_pred, weight)

    def _loss(self, x: Any, y: Any, y_pred: Any, weight: Any, training: bool) -> Any:
        """compute_loss(), which may be a user's of an earlier Keras that is not told of training."""
        known = inspect.signature(self.compute_loss).parameters
        more = {"training": training} if "training" in known or any(
            p.kind is p.VAR_KEYWORD for p in known.values()) else {}
        return self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=weight, **more)

    def predict_step(self, data: Any) -> Any:
        x, _, _ = unpack(data)
        return self._forward(x, False)
