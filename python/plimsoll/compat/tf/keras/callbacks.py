"""Callbacks, and the list of them that fit() drives."""

from __future__ import annotations

import csv
import math
import os
import warnings
from typing import Any, Callable

import numpy as np

from ._progress import Progbar
from ._utilities import is_interactive_logging_enabled

__all__ = [
    "BackupAndRestore", "CSVLogger", "Callback", "CallbackList", "EarlyStopping", "History",
    "LambdaCallback", "LearningRateScheduler", "ModelCheckpoint", "ProgbarLogger", "ReduceLROnPlateau",
    "RemoteMonitor", "SwapEMAWeights", "TensorBoard", "TerminateOnNaN",
]


class Callback:
    """Code of yours that runs with fit(): override what you need."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self._model: Any = None

    @property
    def model(self) -> Any:
        return getattr(self, "_model", None)

    def set_model(self, model: Any) -> None:
        self._model = model

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def on_train_begin(self, logs: Any = None) -> None: ...
    def on_train_end(self, logs: Any = None) -> None: ...
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None: ...
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None: ...
    def on_batch_begin(self, batch: int, logs: Any = None) -> None: ...
    def on_batch_end(self, batch: int, logs: Any = None) -> None: ...

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.on_batch_end(batch, logs)

    def on_test_begin(self, logs: Any = None) -> None: ...
    def on_test_end(self, logs: Any = None) -> None: ...
    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None: ...
    def on_test_batch_end(self, batch: int, logs: Any = None) -> None: ...
    def on_predict_begin(self, logs: Any = None) -> None: ...
    def on_predict_end(self, logs: Any = None) -> None: ...
    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None: ...
    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None: ...


class History(Callback):
    """What fit() gives: history.history["loss"] is a list by epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for key, value in (logs or {}).items():
            self.history.setdefault(key, []).append(value)


def _overrides(callback: Any, names: tuple[str, ...]) -> bool:
    return any(getattr(type(callback), name, None) is not getattr(Callback, name) or name in vars(callback)
               for name in names)


class CallbackList(Callback):
    """Callbacks of a run. Those that look at batches are found beforehand, so that no numbers are read
    from the device for those that do not."""

    def __init__(
        self, callbacks: Any = None, model: Any = None, verbose: int = 0, epochs: int = 1,
        steps: int | None = None, testing: bool = False, begin: bool = True, **_: Any,
    ) -> None:
        super().__init__()
        verbose = verbose if is_interactive_logging_enabled() else 0
        given = [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [
            callbacks]
        for each in given:
            if isinstance(each, type) or not hasattr(each, "on_epoch_end"):
                raise TypeError(f"callbacks has {each!r}; give objects of classes derived from "
                                "keras.callbacks.Callback")
        self.user = given
        self.history = next((each for each in given if isinstance(each, History)), None) or History()
        self.callbacks = list(given)
        if self.history not in self.callbacks and not testing and begin:
            self.callbacks.append(self.history)
        self._bar = Progbar(steps, epochs, verbose) if verbose else None
        self.steps = steps
        self._warned = False
        for each in self.callbacks:
            if begin:
                each.set_model(model)
                each.set_params({"verbose": verbose, "epochs": epochs, "steps": steps})
        self._batches = [c for c in self.callbacks
                         if _overrides(c, ("on_train_batch_end", "on_batch_end"))]
        self._begins = [c for c in self.callbacks
                        if _overrides(c, ("on_train_batch_begin", "on_batch_begin"))]
        self._tests = [c for c in self.callbacks if _overrides(c, ("on_test_batch_end",))]
        self._testing = testing

    def append(self, callback: Any) -> None:
        self.callbacks.append(callback)

    def wants_batches(self, step: int) -> bool:
        return bool(self._batches) or (self._bar is not None and self._bar.due(step, self.steps))

    def wants_test_batches(self, step: int) -> bool:
        return bool(self._tests) or (self._bar is not None and self._bar.due(step, self.steps))

    def warn_not_finite(self, name: str, epoch: int) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"the loss of {name} is not finite in epoch {epoch + 1}; training goes on. A smaller "
                          "learning rate, or keras.callbacks.TerminateOnNaN(), helps", stacklevel=4)

    def on_train_begin(self, logs: Any = None) -> None:
        for each in self.callbacks:
            each.on_train_begin({})

    def on_train_end(self, logs: Any = None) -> None:
        for each in self.callbacks:
            each.on_train_end(logs)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self._bar is not None:
            self._bar.begin(epoch)
        for each in self.callbacks:
            each.on_epoch_begin(epoch, {})

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._bar is not None:
            self._bar.end(self.steps, logs or {})
        for each in self.callbacks:
            each.on_epoch_end(epoch, logs)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        for each in self._begins:
            each.on_train_batch_begin(batch, {})

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if self._bar is not None:
            self._bar.update(batch + 1, self.steps, logs or {})
        for each in self._batches:
            each.on_train_batch_end(batch, logs)

    def on_test_begin(self, logs: Any = None) -> None:
        if self._bar is not None:
            self._bar.begin(None)
        for each in self.callbacks:
            each.on_test_begin({})

    def on_test_end(self, logs: Any = None) -> None:
        if self._bar is not None and self._testing:
            self._bar.end(self.steps, logs or {})
        for each in self.callbacks:
            each.on_test_end(logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        for each in self.callbacks:
            each.on_test_batch_begin(batch, {})

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        if self._bar is not None:
            self._bar.update(batch + 1, self.steps, logs or {})
        for each in self._tests:
            each.on_test_batch_end(batch, logs)

    def on_predict_begin(self, logs: Any = None) -> None:
        if self._bar is not None:
            self._bar.begin(None)
        for each in self.callbacks:
            each.on_predict_begin({})

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        for each in self.callbacks:
            each.on_predict_batch_begin(batch, {})

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        if self._bar is not None and self._bar.due(batch, self.steps):
            self._bar.update(batch + 1, self.steps, {})
        for each in self.callbacks:
            each.on_predict_batch_end(batch, logs)

    def on_predict_end(self, logs: Any = None) -> None:
        if self._bar is not None:
            self._bar.end(self.steps, {})
        for each in self.callbacks:
            each.on_predict_end({})


ProgbarLogger = Callback


class LambdaCallback(Callback):
    def __init__(
        self, on_epoch_begin: Any = None, on_epoch_end: Any = None, on_train_begin: Any = None,
        on_train_end: Any = None, on_train_batch_begin: Any = None, on_train_batch_end: Any = None,
        on_batch_begin: Any = None, on_batch_end: Any = None, **kwargs: Any,
    ) -> None:
        super().__init__()
        given = dict(
            on_epoch_begin=on_epoch_begin, on_epoch_end=on_epoch_end, on_train_begin=on_train_begin,
            on_train_end=on_train_end, on_train_batch_begin=on_train_batch_begin or on_batch_begin,
            on_train_batch_end=on_train_batch_end or on_batch_end, **kwargs)
        for name, function in given.items():
            if function is not None:
                setattr(self, name, function)


class TerminateOnNaN(Callback):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class _Monitor(Callback):
    """A number that is watched, and whether it has become better."""

    def _watch(self, monitor: str, mode: str, min_delta: float, owner: str) -> None:
        self.monitor = monitor
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"{owner} mode '{mode}' is unknown, fallback to auto mode.", stacklevel=3)
            mode = "auto"
        higher = mode == "max" or (mode == "auto" and any(
            part in monitor for part in ("acc", "auc", "precision", "recall", "f1", "r2", "fmeasure")))
        self._higher = higher
        self.min_delta = abs(min_delta) if higher else -abs(min_delta)

    def _value(self, logs: Any, owner: str) -> float | None:
        found = (logs or {}).get(self.monitor)
        if found is None:
            warnings.warn(f"{owner} conditioned on metric `{self.monitor}` which is not available. Available "
                          f"metrics are: {','.join(list((logs or {}).keys()))}", stacklevel=3)
            return None
        return float(found)

    def _better(self, value: float, than: float | None) -> bool:
        if than is None:
            return True
        return value - self.min_delta > than if self._higher else value - self.min_delta < than


class EarlyStopping(_Monitor):
    def __init__(
        self, monitor: str = "val_loss", min_delta: float = 0, patience: int = 0, verbose: int = 0,
        mode: str = "auto", baseline: float | None = None, restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__()
        self._watch(monitor, mode, min_delta, "EarlyStopping")
        self.patience, self.verbose, self.baseline = patience, verbose, baseline
        self.restore_best_weights, self.start_from_epoch = restore_best_weights, start_from_epoch

    def on_train_begin(self, logs: Any = None) -> None:
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best: float | None = None
        self.best_weights: Any = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        value = self._value(logs, "Early stopping")
        if value is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights = self.model.get_weights()
            self.best_epoch = epoch
        self.wait += 1
        if self._better(value, self.best):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._better(value, self.baseline):
                self.wait = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: Any = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping")
        if self.restore_best_weights and self.best_weights is not None:
            if self.verbose > 0:
                print("Restoring model weights from the end of the best epoch: " f"{self.best_epoch + 1}.")
            self.model.set_weights(self.best_weights)


class ModelCheckpoint(_Monitor):
    def __init__(
        self, filepath: Any, monitor: str = "val_loss", verbose: int = 0, save_best_only: bool = False,
        save_weights_only: bool = False, mode: str = "auto", save_freq: Any = "epoch",
        initial_value_threshold: float | None = None,
    ) -> None:
        super().__init__()
        self._watch(monitor, mode, 0, "ModelCheckpoint")
        self.filepath, self.verbose = os.fspath(filepath), verbose
        self.save_best_only, self.save_weights_only, self.save_freq = save_best_only, save_weights_only, save_freq
        self.best = initial_value_threshold
        if save_weights_only and not self.filepath.endswith((".weights.h5", ".safetensors")):
            raise ValueError("When using `save_weights_only=True` in `ModelCheckpoint`, the filepath provided "
                             "must end in `.weights.h5` (Keras weights format), or .safetensors. Received: "
                             f"filepath={self.filepath}")
        if not save_weights_only and not self.filepath.endswith((".keras", ".h5")):
            raise ValueError("The filepath provided must end in `.keras` (Keras model format). Received: "
                             f"filepath={self.filepath}")
        self._batches_seen = 0
        self._epoch = 0
        if save_freq != "epoch":
            setattr(self, "on_train_batch_end", self._after_batch)

    def _after_batch(self, batch: int, logs: Any = None) -> None:
        self._batches_seen += 1
        if self._batches_seen >= int(self.save_freq):
            self._batches_seen = 0
            self._save(self._epoch, batch, logs)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.save_freq == "epoch":
            self._save(epoch, None, logs)

    def _save(self, epoch: int, batch: int | None, logs: Any) -> None:
        path = self.filepath.format(epoch=epoch + 1, batch=(batch or 0) + 1, **(logs or {}))
        if self.save_best_only:
            value = self._value(logs, "Can save best model only: ModelCheckpoint")
            if value is None:
                return
            if not self._better(value, self.best):
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1}: {self.monitor} did not improve from {self.best:.5f}")
                return
            if self.verbose > 0:
                before = "inf" if self.best is None else f"{self.best:.5f}"
                print(f"\nEpoch {epoch + 1}: {self.monitor} improved from {before} to {value:.5f}, saving model "
                      f"to {path}")
            self.best = value
        elif self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: saving model to {path}")
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: finished saving model to {path}")


class ReduceLROnPlateau(_Monitor):
    def __init__(
        self, monitor: str = "val_loss", factor: float = 0.1, patience: int = 10, verbose: int = 0,
        mode: str = "auto", min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0.0, **kwargs: Any,
    ) -> None:
        super().__init__()
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau does not support a factor >= 1.0. Received factor={factor}")
        self._watch(monitor, mode, min_delta, "ReduceLROnPlateau")
        self.factor, self.patience, self.verbose = factor, patience, verbose
        self.cooldown, self.min_lr = cooldown, min_lr
        self._reset()

    def _reset(self) -> None:
        self.best: float | None = None
        self.cooldown_counter = self.wait = 0

    def on_train_begin(self, logs: Any = None) -> None:
        self._reset()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        rate = float(np.asarray(self.model.optimizer.learning_rate))
        if logs is not None:
            logs["learning_rate"] = rate
        value = self._value(logs, "Learning rate reduction is")
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._better(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience and rate > self.min_lr:
                lower = max(rate * self.factor, self.min_lr)
                self.model.optimizer.learning_rate = lower
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {lower}.")
                self.cooldown_counter, self.wait = self.cooldown, 0


class LearningRateScheduler(Callback):
    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        rate = float(np.asarray(self.model.optimizer.learning_rate))
        try:
            found = self.schedule(epoch, rate)
        except TypeError:
            found = self.schedule(epoch)
        if not isinstance(found, (float, np.float32, np.float64, int)) and not hasattr(found, "numpy"):
            raise ValueError("The output of the `schedule` function should be a float. Got: " f"{found}")
        self.model.optimizer.learning_rate = float(np.asarray(found))
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {found}.")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is not None:
            logs["learning_rate"] = float(np.asarray(self.model.optimizer.learning_rate))


class CSVLogger(Callback):
    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.sep, self.append = os.fspath(filename), separator, append
        self._file: Any = None
        self._keys: list[str] | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        heads = not (self.append and os.path.exists(self.filename) and os.path.getsize(self.filename))
        self._file = open(self.filename, "a" if self.append else "w", newline="")
        self._heads, self._keys = heads, None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        found = logs or {}
        if self._keys is None:
            self._keys = sorted(found)
            if not any(key.startswith("val_") for key in self._keys):
                self._keys += [f"val_{key}" for key in self._keys]
            if self._heads:
                csv.writer(self._file, delimiter=self.sep).writerow(["epoch", *self._keys])
        csv.writer(self._file, delimiter=self.sep).writerow(
            [epoch, *(found.get(key, "NA") for key in self._keys)])
        self._file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


from ._backup import BackupAndRestore  # noqa: E402  (it derives from Callback)


class _Refused(Callback):
    """A callback that is not here."""

    _way = "use LambdaCallback"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"keras.callbacks.{type(self).__name__} is not supported; {self._way}")


from ._tensorboard import TensorBoard  # noqa: E402


class RemoteMonitor(_Refused):
    pass


class SwapEMAWeights(_Refused):
    pass


def __getattr__(name: str) -> Any:
    from .._names import missing

    missing(f"tf.keras.callbacks.{name}", list(globals()))
