"""Weights and models in files: .weights.h5 (with h5py), .safetensors, and .keras and .h5 by configuration."""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import Any

import numpy as np

import plimsoll as pm

from .._config import CustomObjectScope, snake_case
from ._h5_model import h5py_module, layers_group, load_h5, put_state, read_layers, save_h5


class Saving:
    """save_weights, load_weights, save."""

    def save_weights(self, filepath: Any, overwrite: bool = True) -> None:
        """Writes all weights: .weights.h5 as Keras does where h5py is installed, or .safetensors."""
        path = os.fspath(filepath)
        if not overwrite and os.path.exists(path):
            raise FileExistsError(f"{path} exists; pass overwrite=True")
        if path.endswith(".safetensors"):
            pm.save_safetensors(path, {name: pm.tensor(value) for name, value in named_weights(self).items()})
        elif path.endswith((".weights.h5", ".h5", ".hdf5")):
            if not path.endswith(".weights.h5"):
                raise ValueError("The filename must end in `.weights.h5`, or .safetensors. Received: "
                                 f"filepath={path}")
            write_h5(self, path)
        else:
            raise ValueError(f"The filename must end in `.weights.h5` or `.safetensors`. Received: {path}")

    def load_weights(self, filepath: Any, skip_mismatch: bool = False, by_name: bool = False, **_: Any) -> None:
        path = os.fspath(filepath)
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no file {path}")
        if (by_name or skip_mismatch) and not path.endswith((".h5", ".hdf5")):
            raise NotImplementedError("load_weights(by_name=, skip_mismatch=) are for .h5 files of layers; set the "
                                      "weights of layers with layer.set_weights(...)")
        if path.endswith(".safetensors"):
            found = pm.load_safetensors(path)
            tensors = found[0] if isinstance(found, tuple) else found
            assign_named(self, {name: np.asarray(value.numpy()) for name, value in tensors.items()}, path)
        elif path.endswith(".keras"):
            with zipfile.ZipFile(path) as archive:
                _put_weights(self, archive, path)
        else:
            read_h5(self, path, by_name, skip_mismatch)

    def save(self, filepath: Any, overwrite: bool = True, zipped: bool | None = None, **kwargs: Any) -> None:
        """Writes the configuration, the weights and the optimizer's state as one file, .keras or .h5."""
        path = os.fspath(filepath)
        if not path.endswith((".keras", ".h5", ".hdf5")) or path.endswith(".weights.h5"):
            raise ValueError(
                "Invalid filepath extension for saving. Please add either a `.keras` extension for the native Keras "
                f"format (recommended) or a `.h5` extension. Received: filepath={path}; SavedModel is not supported.")
        if not overwrite and os.path.exists(path):
            raise FileExistsError(f"{path} exists; pass overwrite=True")
        if not path.endswith(".keras"):
            save_h5(self, path, kwargs.get("include_optimizer", True))
            return
        config = self.serialized()  # type: ignore[attr-defined]
        compiled = self.get_compile_config() if self.compiled else None  # type: ignore[attr-defined]
        shape = None
        first = self.__dict__.get("_first_shapes")
        if first is not None:
            shape = first
        temporary = f"{path}.tmp-{os.getpid()}"
        with zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr("config.json", json.dumps(
                {**config, "compile_config": compiled, "build_config": {"input_shape": shape}}))
            archive.writestr("metadata.json", json.dumps({"keras_version": "3.15.0", "writer": "plimsoll"}))
            for name, value in named_weights(self).items():
                _store(archive, f"weights/{name}.npy", value)
            optimizer = self.optimizer  # type: ignore[attr-defined]
            if optimizer is not None and optimizer.built:
                for i, each in enumerate(optimizer.variables):
                    _store(archive, f"optimizer/{i}.npy", each.numpy())
        os.replace(temporary, path)


def _store(archive: zipfile.ZipFile, name: str, value: Any) -> None:
    with archive.open(name, "w") as file:
        np.lib.format.write_array(file, np.asarray(value), allow_pickle=False)


def named_weights(model: Any) -> dict[str, Any]:
    """All weights by number and name: the order is what counts."""
    return {f"{i:05d}.{each.path.replace('/', '.')}": each.numpy() for i, each in enumerate(model.weights)}


def assign_named(model: Any, arrays: dict[str, Any], path: str) -> None:
    own = model.weights
    if not own:
        raise ValueError(f"the model {model.name} has no weights yet; call it on data, or build() it, first")
    if len(own) != len(arrays):
        raise ValueError(f"{path} has {len(arrays)} weights, and the model {model.name} has {len(own)}")
    for each, name in zip(own, sorted(arrays)):
        value = arrays[name]
        if tuple(value.shape) != tuple(int(n) for n in each.shape):
            raise ValueError(f"{name} of {path} has shape {tuple(value.shape)}, and {each.path} has "
                             f"{tuple(each.shape)}")
        each.assign(value)


def load_model(
    filepath: Any, custom_objects: Any = None, compile: bool = True, safe_mode: bool = True
) -> Any:
    """The model that save() wrote."""
    from ..layers._registry import deserialize

    path = os.fspath(filepath)
    if not os.path.exists(path):
        raise ValueError(f"File not found: filepath={path}. Please ensure the file is an accessible `.keras` "
                         "zip file.")
    if path.endswith((".h5", ".hdf5")):
        return load_h5(path, custom_objects, compile)
    if not zipfile.is_zipfile(path):
        raise NotImplementedError(f"{path} is not a .keras or .h5 file; SavedModel folders are not supported")
    with zipfile.ZipFile(path) as archive, CustomObjectScope(custom_objects or {}):
        config = json.loads(archive.read("config.json"))
        model = deserialize(config)
        shapes = (config.get("build_config") or {}).get("input_shape")
        if not model.weights and shapes is not None:
            model.build(_tuples(shapes))
        _put_weights(model, archive, path)
        if compile and config.get("compile_config"):
            model.compile_from_config(config["compile_config"])
            kept = _state(archive)
            if kept:
                put_state(model, kept, path)
    return model


def _state(archive: zipfile.ZipFile) -> list[Any]:
    """The values of an optimizer's variables, in order."""
    if _OF_KERAS not in archive.namelist():
        kept = _arrays_of(archive, "optimizer/")
        return [kept[str(i)] for i in range(len(kept))]
    h5py = h5py_module(".keras files of Keras", "a file of this library")
    with h5py.File(io.BytesIO(archive.read(_OF_KERAS)), "r") as file:
        group = file["optimizer/vars"] if "optimizer/vars" in file else {}
        return [np.asarray(group[str(i)]) for i in range(len(group))]


_OF_KERAS = "model.weights.h5"


def _put_weights(model: Any, archive: zipfile.ZipFile, path: str) -> None:
    """The weights of a .keras file, of this library or of Keras."""
    if _OF_KERAS in archive.namelist():
        read_h5(model, io.BytesIO(archive.read(_OF_KERAS)), where=path)
        return
    found = _arrays_of(archive, "weights/")
    if found:
        assign_named(model, found, path)


def _arrays_of(archive: zipfile.ZipFile, folder: str) -> dict[str, Any]:
    found = {}
    for name in archive.namelist():
        if name.startswith(folder) and name.endswith(".npy"):
            with archive.open(name) as file:
                found[name[len(folder):-4]] = np.lib.format.read_array(file, allow_pickle=False)
    return found


def _tuples(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {key: _tuples(each) for key, each in shape.items()}
    if shape and isinstance(shape[0], (list, dict)):
        return [_tuples(each) for each in shape]
    return tuple(shape)


def save_model(model: Any, filepath: Any, overwrite: bool = True, **kwargs: Any) -> None:
    model.save(filepath, overwrite=overwrite, **kwargs)


# Keras's .weights.h5: layers/<name>/vars/<i>, names by class.


def h5_paths(model: Any) -> list[tuple[str, Any]]:
    """Where Keras keeps each weight: by the attributes of layers in the order of their names, the layers
    of a list by their classes."""
    found: list[tuple[str, Any]] = []
    visited: set[int] = set()

    def one(layer: Any, path: str) -> None:
        if id(layer) in visited:
            return
        visited.add(id(layer))
        own = layer._direct_weights()
        own.sort(key=lambda each: not each.trainable)
        for i, each in enumerate(own):
            found.append((f"{path}/vars/{i}", each))
        if getattr(layer, "_graph", None) is not None or hasattr(layer, "_row"):
            several(layer.layers, f"{path}/layers")
        for name, value in _attributes(layer):
            if hasattr(value, "_own_weights"):
                one(value, f"{path}/{name}")
            else:
                several(value.values() if isinstance(value, dict) else value, f"{path}/{name}")

    def several(layers: Any, path: str) -> None:
        seen: dict[str, int] = {}
        for each in layers:
            if not hasattr(each, "_own_weights"):
                continue
            base = snake_case(_class_name(each))
            count = seen.get(base, 0)
            seen[base] = count + 1
            one(each, f"{path}/{base}" + (f"_{count}" if count else ""))

    one(model, "")
    unique: dict[int, tuple[str, Any]] = {}
    for path, each in found:
        unique.setdefault(id(each), (path.lstrip("/"), each))
    return list(unique.values())


def _class_name(layer: Any) -> str:
    name = type(layer).__name__
    return "Functional" if name == "Model" else name


def _attributes(layer: Any) -> list[tuple[str, Any]]:
    """Attributes that are layers, or have layers in them, by name; a model's `layers` among them."""
    skipped = ("_tracked", "_own_weights", "_modules", "_states", "_arguments", "_row", "_start", "_last_node", "_graph", "_steps")

    def has_layers(value: Any) -> bool:
        if hasattr(value, "_own_weights"):
            return True
        inner = value.values() if isinstance(value, dict) else value
        return isinstance(value, (list, tuple, dict)) and any(hasattr(v, "_own_weights") for v in inner)

    found = {name.lstrip("_"): value for name, value in vars(layer).items()
             if name not in skipped and has_layers(value)}
    if hasattr(layer, "layers"):
        found["layers"] = layer.layers
    return sorted(found.items())


def write_h5(model: Any, path: str) -> None:
    h5py = h5py_module(".weights.h5 files", "model.save_weights(\"model.safetensors\")")
    temporary = f"{path}.tmp-{os.getpid()}"
    with h5py.File(temporary, "w") as file:
        for name, each in h5_paths(model):
            file.create_dataset(name, data=each.numpy())
    os.replace(temporary, path)


def read_h5(
    model: Any, source: Any, by_name: bool = False, skip_mismatch: bool = False, where: str | None = None
) -> None:
    """Weights of a path or a file in memory."""
    h5py = h5py_module(".weights.h5 files, and .keras files of Keras,", "model.save_weights(\"model.safetensors\")")
    path = where or str(source)
    with h5py.File(source, "r") as file:
        layers = layers_group(file)
        if layers is not None:
            read_layers(layers, model, path, by_name, skip_mismatch)
            return
        if by_name or skip_mismatch:
            raise NotImplementedError("load_weights(by_name=, skip_mismatch=) are for .h5 files of layers; set the "
                                      "weights of layers with layer.set_weights(...)")
        for name, each in h5_paths(model):
            if name not in file:
                raise ValueError(f"{path} has no {name}, which the model {model.name} keeps {each.path} in")
            value = np.asarray(file[name])
            if tuple(value.shape) != tuple(int(n) for n in each.shape):
                raise ValueError(f"{name} of {path} has shape {value.shape}, and {each.path} has "
                                 f"{tuple(each.shape)}")
            each.assign(value)
