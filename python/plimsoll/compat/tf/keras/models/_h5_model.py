"""Whole models in .h5 files, in the layout of earlier Keras: the configuration and what compile() was told as
attributes, the weights in a group for each layer. They need h5py."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Iterator

import numpy as np

from .._config import CustomObjectScope

_MOST = 60000  # bytes of an attribute that is an array: HDF5 has a limit


def h5py_module(what: str, way: str) -> Any:
    """h5py, or an error that names the other way."""
    try:
        import h5py  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise NotImplementedError(f"{what} need h5py, which is not installed; use {way}") from None
    return h5py


def save_h5(model: Any, path: str, include_optimizer: bool = True) -> None:
    """Writes a Sequential or functional model."""
    h5py = h5py_module(".h5 models", "model.save(\"model.keras\")")
    from ._model import Functional, Model
    from ._sequential import Sequential

    if type(model) not in (Model, Functional, Sequential) and model._graph is None:
        raise NotImplementedError(
            "Saving the model to HDF5 format requires the model to be a Functional model or a Sequential model. It does "
            f"not work for subclassed models, and {model.name} is a {type(model).__name__}: use "
            "model.save_weights(\"model.weights.h5\")")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    temporary = f"{path}.tmp-{os.getpid()}"
    with h5py.File(temporary, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = "3.15.0", "tensorflow"
        file.attrs["model_config"] = json.dumps(model.serialized())
        if model.compiled:
            compiled = model.get_compile_config()
            compiled["optimizer_config"] = compiled.pop("optimizer")
            file.attrs["training_config"] = json.dumps(compiled)
        weights = file.create_group("model_weights")
        weights.attrs["keras_version"], weights.attrs["backend"] = "3.15.0", "tensorflow"
        _put_names(weights, "layer_names", [each.name for each in model.layers])
        for layer in model.layers:
            _put(weights.create_group(layer.name), _ordered(layer))
        _put(weights.create_group("top_level_model_weights"), model._direct_weights())
        if include_optimizer and model.compiled and model.optimizer.built:
            _put(file.create_group("optimizer_weights"), model.optimizer.variables)
    os.replace(temporary, path)


def load_h5(path: str, custom_objects: Any, compile: bool) -> Any:
    """The model of such a file."""
    h5py = h5py_module(".h5 models", "a .keras file")
    from ..layers._registry import deserialize
    from ._training_parts import read

    with h5py.File(path, "r") as file, CustomObjectScope(custom_objects or {}):
        if "model_config" not in file.attrs:
            raise ValueError(f"No model config found in the file at {path}: it has weights alone, which "
                             "model.load_weights() reads")
        try:
            model = deserialize(json.loads(_text(file.attrs["model_config"])))
        except (TypeError, KeyError) as error:
            raise NotImplementedError(
                f"{path} has a configuration that is not understood ({error}); build the model in Python and read the "
                f"weights with model.load_weights({path!r})") from error
        read_layers(file["model_weights"], model, path)
        if compile and "training_config" in file.attrs:
            given = json.loads(_text(file.attrs["training_config"]))
            given["optimizer"] = given.pop("optimizer_config")
            known = ("optimizer", "loss", "metrics", "weighted_metrics", "loss_weights")
            model.compile(**{key: read(key, value) for key, value in given.items() if key in known})
            if "optimizer_weights" in file:
                put_state(model, list(_values(file["optimizer_weights"])), path)
    return model


def put_state(model: Any, values: list[Any], path: str) -> None:
    """The state of the optimizer, which begins anew where the file's is of another kind."""
    model.optimizer.build(model.trainable_weights)
    own = model.optimizer.variables
    if len(values) == len(own) and all(v.shape == tuple(o.shape) for v, o in zip(values, own)):
        model.optimizer.set_weights(values)
    else:
        warnings.warn(f"the state of the optimizer in {path} does not fit {type(model.optimizer).__name__}: it begins anew",
                      stacklevel=3)


def read_layers(
    group: Any, model: Any, path: str, by_name: bool = False, skip_mismatch: bool = False
) -> None:
    """Weights of layers in the order of the file, or of those that have the same names."""
    saved = [name for name in _names(group, "layer_names") if _names(group[name], "weight_names")]
    own = [each for each in model.layers if each.weights]
    if by_name:
        by = {each.name: each for each in own}
        pairs = [(name, by[name]) for name in saved if name in by]
    else:
        if len(saved) != len(own):
            raise ValueError(f"Layer count mismatch when loading weights from file {path}. Model expected {len(own)} "
                             f"layers, found {len(saved)} saved layers.")
        pairs = list(zip(saved, own))
    for name, layer in pairs:
        _assign(_ordered(layer), list(_values(group[name])), f"{name} of {path}", layer.name, skip_mismatch)
    if "top_level_model_weights" in group and not by_name:
        _assign(model._direct_weights(), list(_values(group["top_level_model_weights"])), path, model.name,
                skip_mismatch)


def layers_group(file: Any) -> Any:
    """The group of layers in a file of this layout; None in others."""
    if "model_weights" in file:
        return file["model_weights"]
    return file if any(key.startswith("layer_names") for key in file.attrs) else None


def _assign(own: list[Any], values: list[Any], where: str, name: str, skip_mismatch: bool) -> None:
    fits = len(own) == len(values) and all(tuple(o.shape) == v.shape for o, v in zip(own, values))
    if not fits:
        if skip_mismatch:
            return
        raise ValueError(f"the weights {[tuple(o.shape) for o in own]} of {name} do not fit those of {where}, which are "
                         f"{[v.shape for v in values]}")
    for variable, value in zip(own, values):
        variable.assign(value)


def _ordered(layer: Any) -> list[Any]:
    return [*layer.trainable_weights, *layer.non_trainable_weights]


def _put(group: Any, weights: list[Any]) -> None:
    names: list[str] = []
    for each in weights:
        name, count = each.path, 1
        while name in names:
            name, count = f"{each.path}_{count}", count + 1
        names.append(name)
        group.create_dataset(name, data=np.asarray(each.numpy()))
    _put_names(group, "weight_names", names)


def _put_names(group: Any, name: str, names: list[str]) -> None:
    found = np.asarray([each.encode() for each in names]) if names else np.zeros(0, "S1")
    parts = -(-found.nbytes // _MOST) or 1
    for i, each in enumerate(np.array_split(found, parts)):
        group.attrs[name if parts == 1 else f"{name}{i}"] = each


def _names(group: Any, name: str) -> list[str]:
    if name in group.attrs:
        return [_text(each) for each in group.attrs[name]]
    found: list[str] = []
    while f"{name}{len(found)}" in group.attrs:
        found.append(f"{name}{len(found)}")
    return [_text(each) for part in found for each in group.attrs[part]]


def _values(group: Any) -> Iterator[Any]:
    for name in _names(group, "weight_names"):
        yield np.asarray(group[name])


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
