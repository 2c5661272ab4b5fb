"""The trainer: any module, trained within a budget."""

from __future__ import annotations

import inspect
import logging
import os
import pathlib
import re
import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, Sequence

from . import _core
from ._cell import Cell
from ._core import (
    Device, History, Module, NativeCallback, Optimizer, Run, Session, Tensor, TrainingPlan, Variable,
    load_checkpoint, reduce_on_plateau, save_checkpoint,
)
from ._dataset import fits
from ._mistakes import shown
from ._traceback import guarded
from .data import Dataset
from .errors import DataError

__all__ = [
    "Callback", "History", "Metric", "NativeCallback", "Run", "Trainer", "TrainingPlan",
    "load_checkpoint", "reduce_on_plateau", "save_checkpoint",
]

Path = str | os.PathLike[str]


class Callback:
    """Your own code that runs during training: override what you need. An exception in it ends the
    run.

    >>> class Show(pm.Callback):
    ...     def on_epoch(self, run):
    ...         print(run.epoch, run.metrics["loss"])
    """

    def on_begin(self, run: Run) -> None:
        """Before the first step."""

    def on_epoch(self, run: Run) -> None:
        """After an epoch and its validation."""

    def on_end(self, run: Run) -> None:
        """After the last step; not after an exception."""


def _require_arguments(function: Callable[..., Any], count: int, what: str) -> None:
    if not fits(function, count):
        name = getattr(function, "__qualname__", type(function).__name__)
        raise TypeError(f"{what}, and {name}{inspect.signature(function)} cannot be called with {count}")


@guarded
class Metric:
    """A number about predictions that is streamed over batches: each batch gives some sums, and the
    totals of all batches give the number.

    >>> bias = pm.Metric("bias", lambda y, t: pm.sum(y - t))
    """

    def __init__(
        self,
        name: str,
        sums: Callable[[Tensor, Tensor], Tensor],
        result: Callable[[list[float]], float] | None = None,
        *,
        higher_is_better: bool = False,
    ) -> None:
        if not callable(sums):
            raise TypeError(f"[Metric] sums is {shown(sums)}; it must be a function of (prediction, target)")
        _require_arguments(sums, 2, "[Metric] sums is a function of (prediction, target)")
        if result is not None:
            _require_arguments(result, 1, "[Metric] result is a function of the list of totals")
        self.name = name
        self.higher_is_better = higher_is_better
        self._sums = Cell(sums)
        self._result = None if result is None else Cell(result)

    def __repr__(self) -> str:
        return f"Metric({self.name!r})"


def _note_interrupt(result: History) -> None:
    where = f"; its checkpoint is in {result.checkpoint}" if result.checkpoint else ""
    logging.getLogger("plimsoll").warning("fit() was interrupted after step %d%s", result.steps, where)


def _wants_progress(progress: bool | None) -> bool:
    if progress is not None:
        return progress
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def _named(components: Sequence[str | int] | None) -> Any:
    if components is None or isinstance(components, (str, int)):
        return None if components is None else [str(components)]
    return [str(each) if isinstance(each, int) else each for each in components]


@contextmanager
def _counting_components(train: Any) -> Iterator[None]:
    """Says how components become inputs, if forward() does not take as many as there are."""
    try:
        yield
    except TypeError as error:
        spec = train.element_spec if isinstance(train, Dataset) else None
        if spec is not None and re.search(r"forward\(\) (takes|missing)", str(error)):
            names = train.names or [str(i) for i in range(len(spec))]
            error.args = (
                f"[Trainer] {error}: elements have {len(spec)} components, {', '.join(names)}; the last is the "
                "target, and forward() gets all others, each as an argument; Trainer(..., inputs=[...], "
                "targets=[...]) says otherwise",
            )
        raise


@guarded
class Trainer:
    """Trains any module within a budget.

    plan() says what that takes, to the byte, and takes nothing; fit() takes all of it before its
    first step, and a step then allocates nothing.

    >>> trainer = pm.Trainer(net, loss="cross_entropy", optimizer=pm.optim.adamw(1e-3),
    ...                      metrics=["accuracy"])
    >>> print(trainer.plan(train, validation))
    >>> history = trainer.fit(train, validation, epochs=3)
    """

    def __init__(
        self,
        model: Module,
        *,
        loss: str | Callable[..., Tensor] | None = None,
        optimizer: Optimizer | str | None = None,
        metrics: Sequence[str | Metric] | None = None,
        device: Device | Session | str | None = None,
        precision: str = "f32",
        inputs: Sequence[str | int] | None = None,
        targets: Sequence[str | int] | None = None,
        seed: int | None = None,
        clip_norm: float = 0,
        clip_value: float = 0,
        accumulate: int = 1,
        moving_average: float = 0,
        keep: Sequence[str] = (),
        recompute: Sequence[str] = (),
        allow_split: bool = True,
        allow_split_batch_statistics: bool = False,
        choices: Path | None = None,
    ) -> None:
        """`loss` is a name, a function of (prediction, target), or None: the model's own. `metrics`
        are names or pm.Metric. `device` is the default one unless it is named. `precision` is
        "f32", "tf32", "bf16" or "f16". `inputs` and `targets` name components of the elements, those
        without a name by their place: inputs=[0], targets=[1, 2]. Without them the last one is the
        target, and all others are inputs. `seed` is that of initial values and of dropout;
        pm.set_seed()'s, as it is now, unless it is given. `choices` is a file that `plimsoll tune`
        wrote: what a GPU's libraries choose where it names something else."""
        if loss is not None and not isinstance(loss, str) and not callable(loss):
            raise TypeError(
                f"[Trainer] loss is {shown(loss)}; it must be a name such as \"cross_entropy\", or a "
                "function of (prediction, target)"
            )
        if callable(loss):
            _require_arguments(loss, 2, "[Trainer] loss is a function of (prediction, target)")
        if isinstance(metrics, (str, Metric)):
            metrics = [metrics]
        for each in metrics or ():
            if not isinstance(each, (str, Metric)):
                raise TypeError(
                    f"[Trainer] metrics has {shown(each)}; give names such as \"accuracy\", or pm.Metric(...)"
                )
        if not isinstance(precision, str):
            precision = getattr(precision, "name", precision)
        # C++ reaches these weakly: the references are here, where the garbage collector sees them.
        self._loss = Cell(loss) if callable(loss) else loss
        self._metrics = metrics
        self._optimizer = optimizer
        self._model = model
        self._trainer = _core._Trainer(
            model,
            dict(
                loss=self._loss, optimizer=optimizer, metrics=metrics, device=device,
                precision=precision, inputs=_named(inputs), targets=_named(targets), seed=seed, clip_norm=clip_norm,
                clip_value=clip_value, accumulate=accumulate, moving_average=moving_average,
                keep=list(keep), recompute=list(recompute), allow_split=allow_split,
                allow_split_batch_statistics=allow_split_batch_statistics, choices=choices,
            ),
        )

    @property
    def model(self) -> Module:
        """The module that is trained. Its weights stay with it when the trainer is gone."""
        return self._model

    @property
    def optimizer(self) -> Optimizer:
        return self._trainer.optimizer

    @property
    def device(self) -> Device:
        return self._trainer.device

    def plan(
        self,
        train: Dataset | None = None,
        validation: Dataset | None = None,
        *,
        batch: int = 0,
        validation_batch: int = 0,
        input: int | str | None = None,
        decode: int | str | None = None,
        budget: int | str | None = None,
        offload: int | str | None = None,
        host: Device | str | None = None,
        device: Device | str | None = None,
    ) -> TrainingPlan:
        """What training on these datasets takes; or, without data, on batches of `batch` for models
        that know what they are fed. `device` may then be the name of one that is not here, such as
        "h200". Takes no memory. Raises BudgetTooSmall with a budget and a batch that work.

        >>> trainer.plan(batch=32, device="h200")
        """
        options = dict(
            batch=batch, validation_batch=validation_batch, input=input, decode=decode,
            budget=budget, offload=offload, host=host,
        )
        if train is None:
            if batch == 0:
                raise _core_error("[plan] neither a dataset nor a batch is given; plan(train), or plan(batch=32)")
            return self._trainer.plan_for(device, options)
        if device is not None:
            raise _core_error(
                "[plan] device is for plans without data; the trainer's own device is used with a "
                "dataset: Trainer(model, device=...)"
            )
        with _counting_components(train):
            return self._trainer.plan(train, validation, options)

    def fit(
        self,
        train: Dataset,
        validation: Dataset | None = None,
        *,
        epochs: int = 0,
        steps: int = 0,
        plan: TrainingPlan | None = None,
        callbacks: Iterable[Any] = (),
        progress: bool | None = None,
        checkpoints: Path | None = None,
        checkpoint_steps: int = 0,
        checkpoint_epochs: int = 1,
        checkpoints_kept: int = 2,
        best: str | None = None,
        resume: bool = False,
        early_stopping: str | None = None,
        patience: int = 0,
        min_delta: float = 0,
        measure_after: int = 3,
        allow_nonfinite_loss: bool = False,
        threads: int = 0,
        data_seed: int = 0,
        skip_errors: int = 0,
        host: Device | str | None = None,
        log: Path | None = None,
    ) -> History:
        """Trains for `epochs` epochs or `steps` steps, whichever ends first.

        `checkpoints` is a folder; with `resume` the run continues from the latest checkpoint there.
        `patience` epochs in which `early_stopping` (the validation loss, unless you name another
        metric) does not improve end the run. `log` is a file to append a run log to, for pm.report
        and `plimsoll watch`. `callbacks` are objects with on_begin, on_step, on_epoch or on_end.
        Ctrl-C finishes the step, writes a checkpoint and raises KeyboardInterrupt.
        """
        cells = [Cell(each) for each in _callbacks(callbacks)]
        if early_stopping is None:
            early_stopping = "validation_loss"
        elif isinstance(early_stopping, str) and patience == 0:
            raise _core_error(
                f"[fit] early_stopping is {early_stopping!r} and patience is 0, so nothing would ever stop; say how "
                f"many epochs without an improvement end the run: patience=3"
            )
        if not isinstance(early_stopping, str):
            raise TypeError(
                f"[fit] early_stopping is {early_stopping!r}; it must be the name of a metric, with patience= beside "
                'it: fit(..., early_stopping="validation_loss", patience=3)'
            )
        options = dict(
            epochs=epochs, steps=steps, callbacks=cells, progress=_wants_progress(progress),
            checkpoints=checkpoints, checkpoint_steps=checkpoint_steps,
            checkpoint_epochs=checkpoint_epochs, checkpoints_kept=checkpoints_kept, best=best,
            resume=resume, early_stopping=early_stopping, patience=patience,
            min_delta=min_delta, measure_after=measure_after,
            allow_nonfinite_loss=allow_nonfinite_loss, threads=threads, data_seed=data_seed,
            skip_errors=skip_errors, host=host, log=log,
            stop_checkpoints=f"plimsoll-run-{os.getpid()}",
        )
        with _counting_components(train):
            return self._trainer.fit(train, validation, plan, options)

    def step(self, plan: TrainingPlan, *batch: Tensor) -> None:
        """One step on a batch in your hands, for loops of your own: its inputs, then its targets. On a GPU it
        returns while the step runs: loss() waits for it."""
        self._trainer.step(plan, *batch)

    def loss(self) -> float:
        """The mean loss of the last step(), which it waits for."""
        return self._trainer.loss()

    def evaluate(
        self, dataset: Dataset, *, threads: int = 0, skip_errors: int = 0,
        host: Device | str | None = None,
    ) -> dict[str, float]:
        """"loss" and the metrics over all elements."""
        return self._trainer.evaluate(
            dataset, dict(threads=threads, skip_errors=skip_errors, host=host)
        )

    def predict(self, *inputs: Any) -> Any:
        """What the model computes for a batch of inputs, or for all elements of a dataset; a list if it
        gives several."""
        if not inputs:
            raise TypeError("[predict] inputs are missing; give a batch for each input of the model, or a dataset")
        if len(inputs) == 1 and isinstance(inputs[0], Dataset):
            return self._trainer.predict_dataset(inputs[0])
        return self._trainer.predict(
            *(x if isinstance(x, (Tensor, Variable)) else _core.tensor(x, device=self.device)
              for x in inputs)
        )

    def save(self, path: Path, metadata: dict[str, str] | None = None) -> None:
        """Writes the weights and the optimizer's state to a safetensors file, which appears as a whole or
        not at all."""
        self._trainer.save(path, metadata or {})

    def load(self, path: Path, *, strict: bool = True) -> dict[str, str]:
        """Reads what save() wrote, or other weights whose names fit; returns the metadata. Of the
        folder that `fit(checkpoints="run")` wrote, "run/best" is the best checkpoint, and "run" or
        "run/latest" the last one."""
        try:
            return self._trainer.load(_weights_of(path), strict)
        except DataError as error:
            if "nothing is called" not in str(error):
                raise
            hint = "the model has no such parameter; if its layers infer what comes in, build() it first: net.build((1, 64))"
            raise DataError(f"{error}: {hint}") from None

    def release(self) -> None:
        """Gives back the memory that fit() took; the weights stay with the model."""
        self._trainer.release()

    def __repr__(self) -> str:
        return f"Trainer({self._model!r}, {self.optimizer!r}, on {self.device.name})"


def _core_error(message: str) -> Exception:
    from .errors import InvalidArgument

    return InvalidArgument(message)


def _weights_of(path: Path) -> Path:
    """The file with the weights of a checkpoint that is named by its folder, or by the file that names that."""
    if not isinstance(path, (str, os.PathLike)):
        return path
    at = pathlib.Path(path)
    if at.is_dir() and (at / "latest").is_file():
        at = at / "latest"
    if at.name in ("best", "latest") and at.is_file() and at.stat().st_size < 256:
        at = at.parent / at.read_text().strip()
    return at / "model.safetensors" if at.is_dir() else path


_HOOKS = ("on_begin", "on_step", "on_epoch", "on_end")


# Beginnings of what others call their hooks: on_epoch_end, on_train_begin.
_LIKE_HOOKS = (*_HOOKS, "on_train", "on_batch", "on_fit", "on_validation", "on_test", "on_predict")


def _check_hooks(callback: Any) -> None:
    """Says that a hook would never be called, or could not be."""
    for name in dir(type(callback)):
        if name in _HOOKS and callable(hook := getattr(callback, name, None)):
            _require_arguments(hook, 1, f"[fit] {name} is called with the run")
        elif isinstance(callback, Callback) and name.startswith(_LIKE_HOOKS) and name not in _HOOKS:
            raise TypeError(
                f"[fit] {type(callback).__name__} has {name}, which nothing calls; a callback has {', '.join(_HOOKS[:-1])} "
                f"and {_HOOKS[-1]}"
            )


def _callbacks(callbacks: Iterable[Any]) -> list[Any]:
    if isinstance(callbacks, NativeCallback) or any(hasattr(callbacks, name) for name in _HOOKS):
        callbacks = [callbacks]
    found = list(callbacks)
    for each in found:
        if isinstance(each, type):
            raise TypeError(f"[fit] callbacks has the class {each.__name__}; add parentheses")
        if not isinstance(each, NativeCallback) and not any(hasattr(each, name) for name in _HOOKS):
            raise TypeError(
                f"[fit] callbacks has {shown(each)}; a callback has on_begin, on_step, on_epoch or on_end: "
                "derive it from pm.Callback"
            )
        if not isinstance(each, NativeCallback):
            _check_hooks(each)
    return found
