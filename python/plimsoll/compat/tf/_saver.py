"""Variables in files: tf.compat.v1.train.Saver, and the list of checkpoints beside them."""

from __future__ import annotations

import glob
import json
import os
from typing import Any

import plimsoll as pm

from ._errors import NotFoundError
from ._graph import default_graph

_SUFFIX = ".safetensors"


def note(path: str, kept: list[str]) -> None:
    """Writes the file `checkpoint`, which names the latest."""
    folder = os.path.dirname(path) or "."
    with open(os.path.join(folder, "checkpoint"), "w") as file:
        json.dump({"model_checkpoint_path": os.path.basename(path), "all_model_checkpoint_paths": [os.path.basename(each) for each in kept]}, file)


class CheckpointState:
    def __init__(self, folder: str, found: dict[str, Any]) -> None:
        self.model_checkpoint_path = os.path.join(folder, found["model_checkpoint_path"])
        self.all_model_checkpoint_paths = [os.path.join(folder, each) for each in found["all_model_checkpoint_paths"]]


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> CheckpointState | None:
    folder = os.fspath(checkpoint_dir)
    path = os.path.join(folder, latest_filename or "checkpoint")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return CheckpointState(folder, json.load(file))


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The path of the latest checkpoint in a folder, or None."""
    found = get_checkpoint_state(checkpoint_dir, latest_filename)
    if found is None or not checkpoint_exists(found.model_checkpoint_path):
        return None
    return found.model_checkpoint_path


def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    return os.path.exists(os.fspath(checkpoint_prefix) + _SUFFIX)


class Saver:
    """Saves and restores the variables of a session."""

    def __init__(self, var_list: Any = None, max_to_keep: int = 5, **others: Any) -> None:
        from ._errors import unsupported

        if others:
            unsupported("tf.compat.v1.train.Saver", ", ".join(others))
        self._given, self._most = var_list, max_to_keep
        self.last_checkpoints: list[str] = []

    def _named(self) -> dict[str, Any]:
        found = self._given if self._given is not None else default_graph().get_collection("variables")
        if isinstance(found, dict):
            return dict(found)
        return {each.name.split(":")[0]: each for each in found}

    def save(self, sess: Any, save_path: Any, global_step: Any = None, latest_filename: Any = None, write_meta_graph: bool = True, **others: Any) -> str:
        """Writes the session's variables; gives the path to restore from."""
        path: str = os.fspath(save_path)
        if global_step is not None:
            number = int(sess.run(global_step)) if hasattr(global_step, "_graph_tensor") or hasattr(global_step, "_value") else int(global_step)
            path = f"{path}-{number}"
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(folder):
            try:
                os.mkdir(folder)  # one folder, as TensorFlow makes it
            except FileNotFoundError:
                raise ValueError(f"Parent directory of {path} doesn't exist, can't save.") from None
        named = self._named()
        values = {name: pm.tensor(sess.run(variable)) for name, variable in named.items()}
        pm.save_safetensors(path + _SUFFIX, values)
        self.last_checkpoints = [each for each in self.last_checkpoints if each != path] + [path]
        while self._most and len(self.last_checkpoints) > self._most:
            for each in glob.glob(glob.escape(self.last_checkpoints.pop(0)) + _SUFFIX):
                os.remove(each)
        note(path, self.last_checkpoints)
        return path

    def restore(self, sess: Any, save_path: Any) -> None:
        path = os.fspath(save_path) + _SUFFIX
        if not os.path.exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        values = pm.load_safetensors(path)
        for name, variable in self._named().items():
            if name not in values:
                raise NotFoundError(None, None, f"Key {name} not found in checkpoint {save_path}")
            sess.load_variable(variable, values[name].numpy())
