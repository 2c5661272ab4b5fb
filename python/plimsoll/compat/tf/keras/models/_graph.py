"""Functional models: the calls between inputs and outputs, in Keras's order."""

from __future__ import annotations

from typing import Any

from ... import _nest
from ..._symbolic import Node, Record, Replay
from ..._tensor import Tensor


class CallGraph:
    """What is computed from `inputs` to get `outputs`, both structures of symbolic tensors."""

    def __init__(self, inputs: Any, outputs: Any) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.flat_inputs: list[Any] = _nest.flatten(inputs)
        for each in self.flat_inputs:
            if not isinstance(each, Tensor) or not isinstance(each._value, Record):
                raise ValueError(
                    f"All `inputs` values must be KerasTensors, from keras.Input. Received: inputs={inputs}")
        self.flat_outputs: list[Any] = _nest.flatten(outputs)
        for each in self.flat_outputs:
            if not isinstance(each, Tensor) or not isinstance(each._value, Record):
                raise ValueError(
                    "All `outputs` values must be KerasTensors, computed from keras.Input. Received: "
                    f"outputs={outputs}")
        self.nodes = self._ordered()
        self.layers = self._layers()

    def _ordered(self) -> list[Node]:
        """Nodes from the outputs to the inputs as Keras finds them: each after what it needs."""
        ends = {id(each._value.node) for each in self.flat_inputs}
        finished: list[Node] = []
        seen: set[int] = set()
        self.indices: dict[int, int] = {}

        def visit(root: Node) -> None:
            stack: list[tuple[Node, bool]] = [(root, False)]
            while stack:
                node, ready = stack.pop()
                if ready:
                    finished.append(node)
                    continue
                if id(node) in seen:
                    continue
                seen.add(id(node))
                self.indices.setdefault(_owner(node), len(self.indices))
                stack.append((node, True))
                if id(node) not in ends:
                    if not node.inputs and node.call is None:
                        raise ValueError(
                            f"`inputs` not connected to `outputs`: {node.name} is needed, and is not among "
                            "the inputs")
                    stack.extend((each, False) for each in reversed(node.inputs))

        for each in self.flat_outputs:
            visit(each._value.node)
        return finished

    def _layers(self) -> list[Any]:
        """Layers by depth, those further from the outputs first, as Keras lists them."""
        depths: dict[int, int] = {}
        of_layer: dict[int, int] = {}
        for node in reversed(self.nodes):
            depth = max(depths.get(id(node), 0), of_layer.get(_owner(node), 0))
            of_layer[_owner(node)] = depths[id(node)] = depth
            if any(node is each._value.node for each in self.flat_inputs):
                continue
            for parent in node.inputs:
                depths[id(parent)] = max(depth + 1, depths.get(id(parent), 0))
        found: dict[int, Any] = {}
        for each in self.flat_inputs:
            layer = getattr(each._value.node, "layer", None)
            if layer is not None:
                found[id(layer)] = layer
                of_layer.setdefault(id(layer), 0)
                self.indices.setdefault(id(layer), -1)
        for node in self.nodes:
            layer = getattr(node, "layer", None)
            if layer is not None:
                found[id(layer)] = layer
        return sorted(found.values(), key=lambda each: (-of_layer[id(each)], self.indices[id(each)]))

    def run(self, values: list[Any]) -> Any:
        """The outputs for these inputs, tf.Tensors."""
        feeds: dict[Node, list[Any]] = {}
        for symbol, value in zip(self.flat_inputs, values):
            record = symbol._value
            listed = feeds.setdefault(record.node, [])
            listed.extend([None] * (record.index + 1 - len(listed)))
            listed[record.index] = value
        found = Replay(feeds).run([each._value for each in self.flat_outputs])
        return _nest.pack_sequence_as(self.outputs, found)


    def has_ops(self) -> bool:
        """Whether functions were called on tensors outside of layers."""
        return any(getattr(node, "layer", None) is None for node in self.nodes)

    def cloned(self, model: Any) -> Any:
        """The model with layers made anew from their configurations, and the same calls."""
        from ..layers._input import Input

        made: dict[int, Any] = {}
        replay = Replay({})
        for each in self.flat_inputs:
            again = Input(shape=tuple(each.shape.as_list()[1:]), dtype=each.dtype.name, name=each._value.node.name)
            replay.values.setdefault(each._value.node, []).append(again)
        for node in self.nodes:
            if node in replay.values:
                continue
            args, kwargs = replay.substitute((node.args, node.kwargs))
            layer = getattr(node, "layer", None)
            if layer is not None and id(layer) not in made:
                made[id(layer)] = type(layer).from_config(layer.get_config())
            call = node.call if layer is None else made[id(layer)]
            assert call is not None
            replay.values[node] = _nest.flatten(call(*args, **kwargs))
        inputs, outputs = replay.substitute((self.inputs, self.outputs))
        return type(model)(inputs=inputs, outputs=outputs, name=model.name)


def _owner(node: Node) -> int:
    """A layer's calls belong together; other calls are by themselves."""
    layer = getattr(node, "layer", None)
    return id(node) if layer is None else id(layer)
