"""Runs that are interrupted and go on."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .callbacks import Callback


class BackupAndRestore(Callback):
    """Keeps what a run needs to go on in a folder after each epoch; the next run goes on from there."""

    def __init__(
        self, backup_dir: Any, save_freq: Any = "epoch", double_checkpoint: bool = False,
        delete_checkpoint: bool = True,
    ) -> None:
        super().__init__()
        if save_freq != "epoch" or double_checkpoint:
            raise NotImplementedError("BackupAndRestore(save_freq=N, double_checkpoint=True) are not supported; "
                                      "leave them at their defaults")
        self.backup_dir, self.delete_checkpoint = os.fspath(backup_dir), delete_checkpoint

    @property
    def _path(self) -> str:
        return os.path.join(self.backup_dir, "latest.npz")

    def on_train_begin(self, logs: Any = None) -> None:
        if not os.path.exists(self._path):
            return
        with np.load(self._path, allow_pickle=False) as file:
            weights = [file[f"w{i}"] for i in range(int(file["weights"]))]
            state = [file[f"o{i}"] for i in range(int(file["state"]))]
            epoch = int(file["epoch"])
        self.model.set_weights(weights)
        self.model.optimizer.build(self.model.trainable_weights)
        self.model.optimizer.set_weights(state)
        self.model._initial_epoch = epoch + 1

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        os.makedirs(self.backup_dir, exist_ok=True)
        weights, state = self.model.get_weights(), self.model.optimizer.get_weights()
        temporary = f"{self._path}.tmp-{os.getpid()}.npz"
        np.savez(temporary, epoch=epoch, weights=len(weights), state=len(state),
                 **{f"w{i}": each for i, each in enumerate(weights)},
                 **{f"o{i}": each for i, each in enumerate(state)})
        os.replace(temporary, self._path)

    def on_train_end(self, logs: Any = None) -> None:
        if self.delete_checkpoint and os.path.exists(self._path):
            os.remove(self._path)
