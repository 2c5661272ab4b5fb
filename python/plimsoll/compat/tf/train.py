"""tf.train: checkpoints of objects, and the messages of tf.io."""

from __future__ import annotations

import glob
import os
import weakref
from typing import Any

import numpy as np

import plimsoll as pm

from . import _names
from ._dtypes import as_dtype
from ._errors import NotFoundError, unsupported
from ._saver import checkpoint_exists, get_checkpoint_state, latest_checkpoint, note
from ._variable import Variable, made

__all__ = [
    "BytesList", "Checkpoint", "CheckpointManager", "CheckpointOptions", "Coordinator", "Example",
    "ExponentialMovingAverage", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList",
    "Int64List", "SequenceExample", "checkpoint_exists", "get_checkpoint_state", "latest_checkpoint",
    "list_variables", "load_checkpoint", "load_variable",
]

_SUFFIX = ".safetensors"
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


def _variables(prefix: str, value: Any, found: dict[str, Any], seen: set[int]) -> None:
    """All variables and iterators of an object, under the names of the attributes that lead to them."""
    if id(value) in seen:
        return
    if isinstance(value, Variable) or hasattr(value, "restore_position") and not isinstance(value, type):
        found[prefix] = value
        return
    listed = getattr(value, "_checkpoint_variables", None)
    if listed is not None and not isinstance(value, type):
        seen.add(id(value))
        for name, each in listed().items():
            _variables(f"{prefix}/{name}", each, found, seen)
    elif isinstance(value, (list, tuple)):
        for i, each in enumerate(value):
            _variables(f"{prefix}/{i}", each, found, seen)
    elif isinstance(value, dict):
        for name, each in value.items():
            _variables(f"{prefix}/{name}", each, found, seen)
    elif hasattr(value, "variables") and not isinstance(value, type):
        seen.add(id(value))
        own = value.variables() if callable(value.variables) else value.variables
        for i, each in enumerate(own):
            _variables(f"{prefix}/{i}", each, found, seen)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        seen.add(id(value))
        for name, each in sorted(vars(value).items()):
            if not name.startswith("_") and (isinstance(each, (Variable, list, tuple, dict)) or hasattr(each, "__dict__")):
                _variables(f"{prefix}/{name}", each, found, seen)


class CheckpointOptions:
    def __init__(self, **options: Any) -> None:
        if options:
            unsupported("tf.train.CheckpointOptions", ", ".join(options))


class _Status:
    """What restore() gives: whether everything was found."""

    def __init__(self, missing: list[str], unused: list[str]) -> None:
        self._missing, self._unused = missing, unused

    def assert_consumed(self) -> _Status:
        if self._missing or self._unused:
            raise AssertionError(f"Some objects were not restored: {self._missing}; some values were not used: {self._unused}")
        return self

    def assert_existing_objects_matched(self) -> _Status:
        if self._missing:
            raise AssertionError(f"Some objects were not restored: {self._missing}")
        return self

    def assert_nontrivial_match(self) -> _Status:
        return self

    def expect_partial(self) -> _Status:
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restored already."""


class Checkpoint:
    """Variables of objects in files.

    >>> tf.train.Checkpoint(model=model, optimizer=optimizer).save("run/ckpt")
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._objects = dict(kwargs)
        if root is not None:
            self._objects["root"] = root
        for name, value in kwargs.items():
            setattr(self, name, value)
        self.save_counter = Variable(0, trainable=False, name="save_counter", dtype="int64")
        self._waiting: _Waiting | None = None

    def _checkpoint_variables(self) -> dict[str, Any]:
        """What it was given, and attributes that were added since."""
        own = {key: each for key, each in vars(self).items() if not key.startswith("_") and key != "save_counter"}
        return {**({"root": self._objects["root"]} if "root" in self._objects else {}), **own}

    def _found(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        seen: set[int] = set()
        for name, value in self._checkpoint_variables().items():
            _variables(name, value, found, seen)
        return found

    def write(self, file_prefix: Any, options: Any = None) -> str:
        """Writes the variables under exactly this path."""
        path: str = os.fspath(file_prefix)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        values = {name: pm.tensor(_kept(each)) for name, each in self._found().items()}
        values["save_counter"] = pm.tensor(np.asarray(self.save_counter.numpy()))
        pm.save_safetensors(path + _SUFFIX, values)
        return path

    def save(self, file_prefix: Any, options: Any = None) -> str:
        """Writes the variables under a numbered path, which it gives."""
        self.save_counter.assign_add(1)
        path = self.write(f"{os.fspath(file_prefix)}-{int(self.save_counter)}")
        note(path, [path])
        return path

    def read(self, save_path: Any, options: Any = None) -> _Status:
        return self.restore(save_path)

    def restore(self, save_path: Any, options: Any = None) -> _Status:
        """Reads variables back; None does nothing, so that a first run can begin."""
        if save_path is None:
            return _Status([], [])
        path = os.fspath(save_path) + _SUFFIX
        if not os.path.exists(path):
            raise NotFoundError(None, None, f"Could not find checkpoint {save_path}")
        values = pm.load_safetensors(path)
        known = {**self._found(), "save_counter": self.save_counter}
        for name, each in known.items():
            if name in values:
                _put(each, values[name].numpy())
        unused = [each for each in values if each not in known]
        if self._waiting in made:
            made.remove(self._waiting)
        if unused:
            self._waiting = _Waiting({name: values[name] for name in unused}, self._checkpoint_variables())
            made.append(self._waiting)
        return _Status([each for each in known if each not in values], unused)


class _Waiting:
    """Values for variables that did not exist yet when restore() was called. The objects are not kept alive."""

    def __init__(self, values: dict[str, Any], objects: dict[str, Any]) -> None:
        self._values, self._objects = values, {
            name: weakref.ref(each) for name, each in objects.items() if hasattr(each, "__weakref__")}

    def __call__(self) -> None:
        found: dict[str, Any] = {}
        seen: set[int] = set()
        alive = {name: each for name, ref in self._objects.items() if (each := ref()) is not None}
        for name, value in alive.items():
            _variables(name, value, found, seen)
        for name in found.keys() & self._values.keys():
            _put(found[name], self._values.pop(name).numpy())
        if not alive or not self._values:
            made.remove(self)


def _kept(of: Any) -> Any:
    """A variable's value, or the position of an iterator."""
    return np.asarray(of.numpy()) if isinstance(of, Variable) else np.frombuffer(of.save_position(), np.uint8).copy()


def _put(into: Any, value: Any) -> None:
    if isinstance(into, Variable):
        into.assign(value)
    else:
        into.restore_position(value.tobytes())


class CheckpointManager:
    """Keeps the latest checkpoints of a folder."""

    def __init__(self, checkpoint: Checkpoint, directory: Any, max_to_keep: int | None, keep_checkpoint_every_n_hours: Any = None, checkpoint_name: str = "ckpt", step_counter: Any = None, checkpoint_interval: Any = None, init_fn: Any = None) -> None:
        if keep_checkpoint_every_n_hours is not None or step_counter is not None or init_fn is not None:
            unsupported("tf.train.CheckpointManager", "keep_checkpoint_every_n_hours, step_counter, init_fn")
        self.checkpoint, self._folder = checkpoint, str(os.fspath(directory))
        self._most, self._name = max_to_keep, checkpoint_name
        state = get_checkpoint_state(self._folder)
        self._paths = [each for each in (state.all_model_checkpoint_paths if state else []) if checkpoint_exists(each)]

    @property
    def directory(self) -> str:
        return self._folder

    @property
    def checkpoints(self) -> list[str]:
        return list(self._paths)

    @property
    def latest_checkpoint(self) -> str | None:
        return self._paths[-1] if self._paths else None

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None) -> str:
        if checkpoint_number is None:
            path = self.checkpoint.save(os.path.join(self._folder, self._name))
        else:
            path = self.checkpoint.write(os.path.join(self._folder, f"{self._name}-{int(checkpoint_number)}"))
        self._paths = [each for each in self._paths if each != path] + [path]
        while self._most and len(self._paths) > self._most:
            for each in glob.glob(glob.escape(self._paths.pop(0)) + _SUFFIX):
                os.remove(each)
        note(path, self._paths)
        return path

    def restore_or_initialize(self) -> str | None:
        if self.latest_checkpoint is not None:
            self.checkpoint.restore(self.latest_checkpoint)
        return self.latest_checkpoint


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Names and shapes of a checkpoint."""
    path = latest_checkpoint(ckpt_dir_or_file) if os.path.isdir(ckpt_dir_or_file) else os.fspath(ckpt_dir_or_file)
    return [(name, list(each.shape)) for name, each in sorted(pm.load_safetensors(f"{path}{_SUFFIX}").items())]


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    path = latest_checkpoint(ckpt_dir_or_file) if os.path.isdir(ckpt_dir_or_file) else os.fspath(ckpt_dir_or_file)
    return pm.load_safetensors(f"{path}{_SUFFIX}")[name].numpy().copy()


class CheckpointReader:
    """The values of a checkpoint by name, with or without TensorFlow's `/.ATTRIBUTES/VARIABLE_VALUE`."""

    def __init__(self, path: str) -> None:
        if not checkpoint_exists(path):
            raise NotFoundError(None, None, f"Could not find checkpoint {path}")
        self._values = pm.load_safetensors(path + _SUFFIX)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(each.shape) for name, each in self._values.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        return {name: as_dtype(each.numpy().dtype) for name, each in self._values.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        return tensor_str.removesuffix(_VALUE) in self._values

    def get_tensor(self, tensor_str: str) -> Any:
        if not self.has_tensor(tensor_str):
            raise NotFoundError(None, None, f"Key {tensor_str} not found in checkpoint; it has {sorted(self._values)}")
        return self._values[tensor_str.removesuffix(_VALUE)].numpy().copy()


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """A reader for a checkpoint, or for the latest one of a folder."""
    path = latest_checkpoint(ckpt_dir_or_file) if os.path.isdir(ckpt_dir_or_file) else os.fspath(ckpt_dir_or_file)
    if path is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}")
    return CheckpointReader(path)


class Coordinator:
    """Of queues, which are not here: tf.data has what they were for."""

    def __init__(self, *_: Any, **__: Any) -> None:
        unsupported("tf.train.Coordinator", way="tf.data.Dataset instead of queues")


_MESSAGES = (
    "BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList",
    "Int64List", "SequenceExample",
)


def __getattr__(name: str) -> Any:
    if name == "ExponentialMovingAverage":
        from ._average import ExponentialMovingAverage

        return ExponentialMovingAverage
    if name in _MESSAGES:
        from . import _examples

        return getattr(_examples, name)
    _names.missing(f"tf.train.{name}", __all__)
