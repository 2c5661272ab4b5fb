"""compile, fit, evaluate, predict: loops over planned steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import plimsoll as pm

from ... import _nest
from .. import callbacks as callbacks_module, losses as losses_module, optimizers
from .._base import raw, wrap
from ..metrics import Mean
from ._compile import CompiledLoss, CompiledMetrics, class_table, class_weights
from ._data import Batches, batches_of, split_rows, unpack
from ._rows import normalizes_by_batch, rows_stand_alone
from ._step import PlannedStep, run_in_parts, run_within_budget
from ._step_functions import StepFunctions
from ._training_parts import has_call, joined, numbers, one, read, validates, validation_batches, written


class Training(StepFunctions):
    """What a model has besides its layers: an optimizer, a loss, metrics, and the loops."""

    _graph: Any

    def _training_init(self) -> None:
        self.optimizer: Any = None
        self.loss: Any = None
        self.stop_training = False
        self.compiled = False
        self.run_eagerly = False
        self.history: Any = None
        self._compile_arguments: dict[str, Any] = {}
        self._compiled_loss: CompiledLoss | None = None
        self._compiled_metrics: CompiledMetrics | None = None
        self._loss_tracker: Any = None
        self._steps: dict[str, PlannedStep] = {}
        self._split: dict[int, int] = {}
        self._class_table: Any = None
        self._initial_epoch = 0  # callbacks may move it before the first
        self._traced_for: Any = None

    def compile(
        self, optimizer: Any = "rmsprop", loss: Any = None, loss_weights: Any = None, metrics: Any = None,
        weighted_metrics: Any = None, run_eagerly: bool | None = False, steps_per_execution: int = 1,
        jit_compile: Any = "auto", auto_scale_loss: bool = True, **kwargs: Any,
    ) -> None:
        """Names the optimizer, the loss and the metrics that fit() uses."""
        if kwargs:
            raise TypeError(f"compile() got unexpected arguments {sorted(kwargs)}")
        if any(each is not None and not hasattr(each, "__float__") for each in _nest.flatten(loss_weights)):
            loss_weights, metrics = metrics, loss_weights  # by position, in the order of Keras 2
        self._compile_arguments = dict(
            optimizer=optimizer, loss=loss, metrics=metrics, loss_weights=loss_weights,
            weighted_metrics=weighted_metrics)
        self.optimizer = optimizers.get(optimizer)
        if self.dtype_policy.name == "mixed_float16" and auto_scale_loss and not isinstance(  # type: ignore[attr-defined]
            self.optimizer, optimizers.LossScaleOptimizer
        ):
            self.optimizer = optimizers.LossScaleOptimizer(self.optimizer)
        if isinstance(loss, str):
            losses_module.get(loss)  # an unknown name is an error now
        if loss is not None:  # without one, what was compiled before stays, as in Keras 3
            self.loss, self._compiled_loss = loss, CompiledLoss(loss, loss_weights)
        if metrics is not None or weighted_metrics is not None:
            # Not among the metrics that are attributes: `metrics` has these first.
            object.__setattr__(self, "_compiled_metrics", CompiledMetrics(
                metrics, weighted_metrics, self._output_names))
        object.__setattr__(self, "_loss_tracker", Mean(name="loss"))
        self.run_eagerly = bool(run_eagerly)
        self.stop_training = False
        self.compiled = True
        self._steps.clear()
        self._split.clear()

    def _need_compile(self, method: str) -> None:
        if not self.compiled:
            raise ValueError(f"You must call `compile()` before calling `{method}()`.")

    # Planned steps.

    def _planned(self, name: str) -> PlannedStep:
        frozen = tuple(id(each) for each in self.trainable_weights)  # type: ignore[attr-defined]
        if self._traced_for != frozen and self._steps:
            self._steps.clear()  # layers were frozen, or freed: what was traced trains others
        self._traced_for = frozen
        found = self._steps.get(name)
        if found is not None:
            return found
        if name == "train":
            own = type(self).train_step is not StepFunctions.train_step
            f: Any = (lambda data: self.train_step(self._weighted(data))) if own else (
                lambda data, parts=1: self._train(self._weighted(data), parts))
        elif name == "test":
            own = type(self).test_step is not StepFunctions.test_step
            f = self.test_step if own else self._test
        else:
            f = self.predict_step
        made = self._steps[name] = PlannedStep(f"{self.name}.{name}_step", f, self.run_eagerly, self._device)
        return made

    def _device(self) -> Any:
        """Where the weights are."""
        found = next((each._variable for each in self.weights if each._variable is not None), None)  # type: ignore[attr-defined]
        return pm.default_device() if found is None else found.device

    def _weighted(self, data: Any) -> Any:
        """With class weights, weights for each sample."""
        if self._class_table is None:
            return data
        x, y, weight = unpack(data)
        made = class_weights(y, self._class_table)
        if weight is not None:
            made = wrap(raw(made) * raw(weight))
        return x, y, made

    def _batch(self, x: Any, y: Any, weight: Any) -> Any:
        if weight is not None:
            return (x, y, weight)
        if y is not None:
            return (x, y)
        return (x,) if isinstance(x, (list, tuple)) else x

    def _prepare(self, batch: Any) -> None:
        """Weights and the optimizer's state, made before the first step is traced."""
        x, _, _ = unpack(batch)
        if type(self).train_step is not StepFunctions.train_step and not self._graph and (
            not has_call(self)
        ):
            return
        own = type(self).train_step is not StepFunctions.train_step
        try:
            self._make_weights(x)  # type: ignore[attr-defined]
        except (TypeError, ValueError, pm.InvalidArgument):
            if not own:
                raise  # a train_step of one's own may call the model with something else
        if self.optimizer is not None and not self.optimizer.built and not own:
            self.optimizer.build(self.trainable_weights)  # type: ignore[attr-defined]

    def _trainer(self) -> Any:
        """What runs a step on a batch."""
        step = self._planned("train")
        own = type(self).train_step is not StepFunctions.train_step

        def run(batch: Any) -> Any:
            return run_within_budget(step, batch, self._split, lambda: not own and (
                not normalizes_by_batch(self)) and rows_stand_alone(self, self._weighted(batch), True))

        return run

    # Loops.

    def fit(
        self, x: Any = None, y: Any = None, batch_size: int | None = None, epochs: int = 1,
        verbose: Any = "auto", callbacks: Any = None, validation_split: float = 0.0,
        validation_data: Any = None, shuffle: bool = True, class_weight: Any = None,
        sample_weight: Any = None, initial_epoch: int = 0, steps_per_epoch: int | None = None,
        validation_steps: int | None = None, validation_batch_size: int | None = None,
        validation_freq: Any = 1, **kwargs: Any,
    ) -> Any:
        """Trains, within the budget of the device.

        >>> history = model.fit(x, y, epochs=3, validation_split=0.2)
        """
        for each in ("max_queue_size", "workers", "use_multiprocessing"):
            kwargs.pop(each, None)
        if kwargs:
            raise TypeError(f"fit() got unexpected arguments {sorted(kwargs)}")
        self._need_compile("fit")
        verbose = 1 if verbose == "auto" else int(verbose)
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = split_rows((x, y, sample_weight), validation_split)
        train = batches_of(x, y, sample_weight, batch_size, steps_per_epoch, bool(shuffle))
        validation = None
        if validation_data is not None:
            validation = validation_batches(validation_data, validation_batch_size or batch_size, validation_steps)
        table = None if class_weight is None else class_table(class_weight)
        if table is not None or self._class_table is not None:
            self._steps.pop("train", None)
        self._class_table = table
        listed = callbacks_module.CallbackList(callbacks, self, verbose, epochs, train.steps)
        self.stop_training = False
        self._initial_epoch = initial_epoch
        listed.on_train_begin()
        logs: dict[str, Any] = {}
        for epoch in range(self._initial_epoch, epochs):
            self.reset_metrics()
            listed.on_epoch_begin(epoch)
            logs = self._epoch(train, listed, epoch)
            if validation is not None and validates(epoch, validation_freq):
                found = self._evaluate(validation, callbacks_module.CallbackList(
                    listed.user, self, 0, 1, validation.steps, begin=False))
                logs.update({f"val_{key}": value for key, value in found.items()})
                logs = dict(sorted(logs.items()))
            train.on_epoch_end()
            listed.on_epoch_end(epoch, logs)
            if self.stop_training:
                break
        if epochs > 0 and hasattr(self.optimizer, "finalize_variable_values"):
            self.optimizer.finalize_variable_values(self.trainable_weights)  # type: ignore[attr-defined]
        listed.on_train_end(logs)
        self.history = listed.history
        return self.history

    def _epoch(self, train: Batches, listed: Any, epoch: int) -> dict[str, Any]:
        """One epoch; gives its numbers."""
        last: Any = None
        trainer: Any = None
        step = 0
        for x, y, weight in train.epoch():
            batch = self._batch(x, y, weight)
            if step == 0:
                self._prepare(batch)
                listed.steps = train.steps
                trainer = self._trainer()
            listed.on_train_batch_begin(step)
            last = trainer(batch)
            if listed.wants_batches(step):
                listed.on_train_batch_end(step, self._logs(last))
            step += 1
            if self.stop_training:
                break
        if step == 0:
            raise ValueError("fit() was given no data: the first epoch has no batches")
        listed.steps = listed.steps or step
        logs = self._logs(last)
        if not np.isfinite(logs.get("loss", 0.0)):
            listed.warn_not_finite(self.name, epoch)
        return logs

    def _logs(self, result: Any) -> dict[str, Any]:
        """The numbers so far: what the step gave, or the metrics' results; sorted as Keras sorts them."""
        return numbers(result if isinstance(result, dict) else self.get_metrics_result())

    def _evaluate(self, batches: Batches, listed: Any) -> dict[str, Any]:
        self.reset_metrics()
        step, last = self._planned("test"), None
        own, split = type(self).test_step is not StepFunctions.test_step, dict[int, int]()
        listed.on_test_begin()
        count = 0
        for i, (x, y, weight) in enumerate(batches.epoch()):
            batch = self._batch(x, y, weight)
            if i == 0:
                self._prepare(batch)
                step = self._planned("test")
            listed.on_test_batch_begin(i)
            last = run_in_parts(step, batch, split, lambda: not own and rows_stand_alone(self, batch, True))[-1]
            if listed.wants_test_batches(i):
                listed.on_test_batch_end(i, self._logs(last))
            count += 1
        if count == 0:
            raise ValueError("evaluate() was given no data; a generator of validation_data must go on for all epochs")
        logs = self._logs(last)
        listed.on_test_end(logs)
        return logs

    def evaluate(
        self, x: Any = None, y: Any = None, batch_size: int | None = None, verbose: Any = "auto",
        sample_weight: Any = None, steps: int | None = None, callbacks: Any = None,
        return_dict: bool = False, **kwargs: Any,
    ) -> Any:
        """The loss and the metrics over all elements."""
        for each in ("max_queue_size", "workers", "use_multiprocessing"):
            kwargs.pop(each, None)
        if kwargs:
            raise TypeError(f"evaluate() got unexpected arguments {sorted(kwargs)}")
        self._need_compile("evaluate")
        batches = batches_of(x, y, sample_weight, batch_size, steps)
        listed = callbacks_module.CallbackList(callbacks, self, 1 if verbose == "auto" else int(verbose), 1,
                                               batches.steps, testing=True)
        logs = self._evaluate(batches, listed)
        return logs if return_dict else self._in_order(logs)

    def _in_order(self, logs: dict[str, Any]) -> Any:
        names: list[str] = []
        for each in self.metrics:
            if not isinstance(each, CompiledMetrics):
                names.append(each.name)
            elif not each.several:
                names += [inner.name for inner in each.metrics]
        names = [name for name in names if name in logs]
        names += [name for name in logs if name not in names]
        found = [logs[name] for name in names]
        return found[0] if len(found) == 1 else found

    def predict(
        self, x: Any, batch_size: int | None = None, verbose: Any = "auto", steps: int | None = None,
        callbacks: Any = None, **kwargs: Any,
    ) -> Any:
        """What the model computes for all elements, as NumPy arrays."""
        for each in ("max_queue_size", "workers", "use_multiprocessing"):
            kwargs.pop(each, None)
        if kwargs:
            raise TypeError(f"predict() got unexpected arguments {sorted(kwargs)}")
        batches = batches_of(x, None, None, batch_size, steps)
        listed = callbacks_module.CallbackList(callbacks, self, 1 if verbose == "auto" else int(verbose), 1,
                                               batches.steps, testing=True)
        step = self._planned("predict")
        results: list[Any] = []
        structure: Any = None
        own, split = type(self).predict_step is not StepFunctions.predict_step, dict[int, int]()
        listed.on_predict_begin()
        for i, (given, _, _) in enumerate(batches.epoch()):
            if i == 0 and (self._graph is not None or has_call(self)):
                self._make_weights(given)  # type: ignore[attr-defined]
                step = self._planned("predict")
            listed.on_predict_batch_begin(i)
            batch, before = (given,), len(results)
            for structure in run_in_parts(step, batch, split, lambda: not own and rows_stand_alone(self, batch, False)):
                results.append([each.numpy() for each in _nest.flatten(structure)])
            listed.on_predict_batch_end(i, {} if not listed.user else {
                "outputs": _nest.pack_sequence_as(structure, joined(results[before:]))})
        listed.on_predict_end()
        if not results:
            raise ValueError("predict() was given no data")
        return _nest.pack_sequence_as(structure, joined(results))

    # Single batches.

    def train_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """One step on a batch in your hands; the numbers are this batch's."""
        self._need_compile("train_on_batch")
        table = None if class_weight is None else class_table(class_weight)
        if table is not None or self._class_table is not None:
            self._steps.pop("train", None)
        self._class_table = table
        batch = self._batch(*one(x, y, sample_weight))
        self._prepare(batch)
        self.reset_metrics()
        logs = self._logs(self._trainer()(batch))
        return logs if return_dict else self._in_order(logs)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        self._need_compile("test_on_batch")
        batch = self._batch(*one(x, y, sample_weight))
        self._prepare(batch)
        self.reset_metrics()
        logs = self._logs(self._planned("test")(batch))
        return logs if return_dict else self._in_order(logs)

    def predict_on_batch(self, x: Any) -> Any:
        given, _, _ = one(x, None, None)
        self._make_weights(given)  # type: ignore[attr-defined]
        return _nest.map_structure(lambda t: t.numpy(), self._planned("predict")((given,)))

    def make_train_function(self, force: bool = False) -> Any:
        return self._planned("train")

    def get_compile_config(self) -> dict[str, Any]:
        found = {key: written(value) for key, value in self._compile_arguments.items()}
        if self.optimizer is not None:
            found["optimizer"] = self.optimizer.serialized()
        return found

    def compile_from_config(self, config: dict[str, Any]) -> None:
        known = ("optimizer", "loss", "loss_weights", "metrics", "weighted_metrics", "run_eagerly")
        self.compile(**{key: read(key, value) for key, value in config.items() if key in known})
