"""Functional models as configurations: layers, and who is called with whose results."""

from __future__ import annotations

from typing import Any

from ... import _nest
from ..._symbolic import Record
from ..._tensor import Tensor
from .._base import static_shape
from ..layers._input import InputLayer
from ..layers._registry import deserialize


def graph_config(model: Any) -> dict[str, Any]:
    """Layers with their calls; each tensor is [layer, call, result]."""
    graph = model._graph
    calls: dict[int, list[Any]] = {}
    for node in graph.nodes:
        layer = getattr(node, "layer", None)
        if layer is None:
            raise NotImplementedError(
                f"the model has the call of {node.type} outside of layers, which get_config() cannot write "
                "down; put it into a keras.layers.Lambda of a named function, or into a layer of your own")
        calls.setdefault(id(layer), []).append(node)

    def reference(tensor: Any) -> list[Any]:
        node = tensor._value.node
        return [node.layer.name, calls[id(node.layer)].index(node), tensor._value.index]

    def written(value: Any) -> Any:
        if isinstance(value, Tensor):
            if not isinstance(value._value, Record):
                raise NotImplementedError("a layer was called with a constant tensor, which get_config() "
                                          "cannot write down")
            return {"class_name": "__keras_tensor__", "config": {
                "shape": static_shape(value), "dtype": value.dtype.name, "keras_history": reference(value)}}
        if isinstance(value, (list, tuple)):
            return [written(each) for each in value]
        if isinstance(value, dict):
            return {key: written(each) for key, each in value.items()}
        return value

    layers = []
    for layer in graph.layers:
        entry = {**layer.serialized(), "name": layer.name, "inbound_nodes": []}
        if not isinstance(layer, InputLayer):
            entry["inbound_nodes"] = [
                {"args": written(list(node.args)), "kwargs": written(node.kwargs)}
                for node in calls.get(id(layer), [])]
        layers.append(entry)
    return {
        "name": model.name, "trainable": model.trainable, "layers": layers,
        "input_layers": _nest.map_structure(reference, graph.inputs)
        if not isinstance(graph.inputs, Tensor) else reference(graph.inputs),
        "output_layers": _nest.map_structure(reference, graph.outputs)
        if not isinstance(graph.outputs, Tensor) else reference(graph.outputs),
    }


def _history(value: dict[str, Any]) -> list[Any]:
    """[layer, call, result] of a tensor that was written down, here or by Keras."""
    found: Any = value["config"]
    return list(found["keras_history"] if isinstance(found, dict) else found)


def graph_from_config(cls: Any, config: dict[str, Any]) -> Any:
    layers: dict[str, Any] = {}
    results: dict[tuple[str, int], list[Any]] = {}
    waiting: list[Any] = []
    for entry in config["layers"]:
        layer = layers[entry["name"]] = deserialize(entry)
        if isinstance(layer, InputLayer):
            results[entry["name"], 0] = [layer.output]
        waiting.extend((entry["name"], i, node) for i, node in enumerate(entry["inbound_nodes"]))

    def ready(value: Any) -> bool:
        if isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
            return tuple(_history(value)[:2]) in results
        if isinstance(value, dict):
            return all(ready(each) for each in value.values())
        return not isinstance(value, list) or all(ready(each) for each in value)

    def made(value: Any) -> Any:
        if isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
            name, call, index = _history(value)
            return results[name, call][index]
        if isinstance(value, dict):
            return {key: made(each) for key, each in value.items()}
        return [made(each) for each in value] if isinstance(value, list) else value

    while waiting:
        left = []
        for name, call, node in waiting:
            if not ready(node["args"]) or not ready(node["kwargs"]):
                left.append((name, call, node))
                continue
            found = layers[name](*made(node["args"]), **made(node["kwargs"]))
            results[name, call] = _nest.flatten(found)
        if len(left) == len(waiting):
            raise ValueError(f"the configuration of {config.get('name')} has calls without their inputs")
        waiting = left

    def tensors(reference: Any) -> Any:
        if isinstance(reference, dict):
            return {key: tensors(each) for key, each in reference.items()}
        if isinstance(reference, list) and len(reference) == 3 and isinstance(reference[0], str):
            return results[reference[0], reference[1]][reference[2]]
        return [tensors(each) for each in reference]

    return cls(tensors(config["input_layers"]), tensors(config["output_layers"]), name=config.get("name"),
               trainable=config.get("trainable", True))
