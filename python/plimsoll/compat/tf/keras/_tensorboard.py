"""The TensorBoard callback: event files with the numbers of each epoch."""

from __future__ import annotations

import os
from typing import Any

from .. import _events
from .callbacks import Callback


class TensorBoard(Callback):
    """Writes losses and metrics to log_dir/train and log_dir/validation, and histograms of weights. Graphs
    and profiles are not written."""

    def __init__(
        self, log_dir: Any = "logs", histogram_freq: int = 0, write_graph: bool = True, write_images: bool = False,
        write_steps_per_second: bool = False, update_freq: Any = "epoch", profile_batch: Any = 0,
        embeddings_freq: int = 0, embeddings_metadata: Any = None, **old: Any,
    ) -> None:
        super().__init__()
        for name, given in (("write_images", write_images), ("embeddings_freq", embeddings_freq),
                            ("profile_batch", profile_batch)):
            if given:
                raise NotImplementedError(f"TensorBoard({name}={given!r}) is not supported; leave {name} out. Scalars "
                                          "and histograms are written")
        self.log_dir, self.histogram_freq = os.fspath(log_dir), histogram_freq
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._files: dict[str, Any] = {}
        self._step = 0

    def _file(self, name: str) -> Any:
        if name not in self._files:
            self._files[name] = _events.EventFile(os.path.join(self.log_dir, name))
        return self._files[name]

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._step += 1
        if isinstance(self.update_freq, int) and self._step % self.update_freq == 0:
            for name, value in (logs or {}).items():
                self._file("train").add(self._step, _events.scalar_value(f"batch_{name}", float(value)))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        for name, value in (logs or {}).items():
            if name.startswith("val_"):
                self._file("validation").add(epoch, _events.scalar_value(f"epoch_{name[4:]}", float(value)))
            else:
                self._file("train").add(epoch, _events.scalar_value(f"epoch_{name}", float(value)))
        rate = getattr(self.model.optimizer, "learning_rate", None)
        if rate is not None and not callable(rate):
            self._file("train").add(epoch, _events.scalar_value("epoch_learning_rate", float(rate)))
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            for each in self.model.weights:
                self._file("train").add(epoch, _events.histogram_value(f"{each.path}/histogram", each.numpy()))
        for file in self._files.values():
            file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        for file in self._files.values():
            file.close()
        self._files = {}
