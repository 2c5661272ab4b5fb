"""Graphs of tf.compat.v1: nodes with names, variables that are declared, gradients as nodes."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterable, Iterator

import plimsoll as pm

from . import _nest
from ._convert import convert_to_tensor
from ._dtypes import as_dtype
from ._errors import unsupported
from ._shape import TensorShape
from ._state import default_graph_on, state
from ._symbolic import Node, Record, Replay, Typed, record, records_in
from ._tensor import Tensor

Operation = Node


class Graph:
    """Ops that are recorded, to be run by a session.

    >>> with tf.Graph().as_default():
    ...     x = tf.compat.v1.placeholder(tf.float32, [None, 3])
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._names: dict[str, int] = {}
        self._scopes: list[str] = []
        self._controls: list[list[Node]] = []
        self.collections: dict[str, list[Any]] = {}
        self.variables: dict[str, Any] = {}
        self.variable_scopes: list[Any] = []
        self.seed: int | None = None
        self.finalized = False

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        before, state.graph = state.graph, self
        try:
            yield self
        finally:
            state.graph = before

    def add(self, node: Node) -> None:
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        self.nodes.append(node)

    def finalize(self) -> None:
        self.finalized = True

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        full = "/".join([*self._scopes, name]) if not name.startswith("/") else name[1:]
        count = self._names.get(full, 0)
        if mark_as_used:
            self._names[full] = count + 1
        return full if count == 0 else f"{full}_{count}"

    def enter_scope(self, name: str) -> str:
        if name.endswith("/"):
            self._scopes.append(name[:-1])
            return name
        base = "/".join([*self._scopes, name])
        key = f"{base}/"
        count = self._names.get(key, 0)
        self._names[key] = count + 1
        self._scopes.append(name if count == 0 else f"{name}_{count}")
        return "/".join(self._scopes) + "/"

    def exit_scope(self) -> None:
        self._scopes.pop()

    @contextlib.contextmanager
    def name_scope(self, name: str) -> Iterator[str]:
        yield self.enter_scope(name)
        self.exit_scope()

    def controls(self) -> Iterable[Node]:
        return [each for block in self._controls for each in block]

    @contextlib.contextmanager
    def control_dependencies(self, inputs: Any) -> Iterator[None]:
        if inputs is None:
            before, self._controls = self._controls, []
            try:
                yield
            finally:
                self._controls = before
            return
        self._controls.append([node_of(each) for each in inputs])
        try:
            yield
        finally:
            self._controls.pop()

    @contextlib.contextmanager
    def device(self, name: Any) -> Iterator[None]:
        from ._config import device

        with device(name):
            yield

    def add_to_collection(self, name: str, value: Any) -> None:
        self.collections.setdefault(str(name), []).append(value)

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        found = self.collections.get(str(name), [])
        return [each for each in found if scope is None or each.name.startswith(scope)]

    def get_collection_ref(self, name: str) -> list[Any]:
        return self.collections.setdefault(str(name), [])

    def get_operations(self) -> list[Node]:
        return list(self.nodes)

    def get_operation_by_name(self, name: str) -> Node:
        for each in self.nodes:
            if each.name == name:
                return each
        raise KeyError(f"The name '{name}' refers to an Operation not in the graph.")

    def get_tensor_by_name(self, name: str) -> Any:
        if ":" not in name:
            raise ValueError(f"The name '{name}' looks like an (invalid) Operation name, not a Tensor: names are '<op_name>:<output_index>'.")
        op_name, index = name.rsplit(":", 1)
        try:
            return self.get_operation_by_name(op_name).outputs[int(index)]
        except KeyError:
            raise KeyError(f"The name '{name}' refers to a Tensor which does not exist. The operation, '{op_name}', does not exist in the graph.") from None

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        if isinstance(obj, str):
            return self.get_tensor_by_name(obj) if ":" in obj else self.get_operation_by_name(obj)
        return obj

    def as_graph_def(self, *_: Any, **__: Any) -> Any:
        unsupported("tf.Graph.as_graph_def", way="tf.compat.v1.train.Saver saves variables")

    @property
    def version(self) -> int:
        return len(self.nodes)


_default: list[Graph] = [Graph()]


def default_graph() -> Graph:
    """The graph that ops are recorded into where no other is named."""
    return state.graph if state.graph is not None else _default[0]


def reset_default_graph() -> None:
    """Forgets the default graph: a new one is begun."""
    if state.graph is not None:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _default[0] = Graph()


def graph_mode() -> bool:
    return state.graph is not None or default_graph_on[0]


def node_of(value: Any) -> Node:
    """The node behind a tensor, a variable, an operation."""
    if isinstance(value, Node):
        return value
    tensor = _symbolic(value)
    if isinstance(tensor, Tensor) and isinstance(tensor._value, Record):
        return tensor._value.node
    raise TypeError(f"{value!r} is not part of a graph")


class VariableNode(Node):
    """A variable, whose values every session has for itself."""

    def __init__(self, variable: Any, name: str, initial: Any) -> None:
        super().__init__(None, name=name)
        self.variable, self.initial = variable, initial
        self.dtype, self.shape = initial.dtype, initial.shape
        if not self.shape.is_fully_defined():
            raise ValueError(f"the initial value of variable '{name}' must have a known shape, not {self.shape}")
        typed = Typed(self.dtype, self.shape.as_list())
        self.outputs = [Tensor(Record(self, 0, (typed, typed)))]
        self.structure = self.outputs[0]
        self.initializer: Any = None

    def evaluate(self, replay: Replay) -> list[Any]:
        # Of integers a copy, which is traced: what is computed from known integers would be known.
        value = replay.variable(self).value  # type: ignore[attr-defined]
        return [Tensor(value if self.dtype.is_floating else traced_copy(value))]


class ReadNode(Node):
    """The value of a variable at this point: after the ops of tf.control_dependencies."""

    def __init__(self, target: VariableNode) -> None:
        super().__init__(None, name="read")
        self.target, self.inputs = target, [target]
        typed = Typed(target.dtype, target.shape.as_list())
        self.outputs = [Tensor(Record(self, 0, (typed, typed)))]
        self.structure = self.outputs[0]

    def evaluate(self, replay: Replay) -> list[Any]:
        return [Tensor(traced_copy(replay.variable(self.target).value))]  # type: ignore[attr-defined]


def traced_copy(value: Any) -> Any:
    return pm.logical_not(pm.logical_not(value)) if value.dtype == pm.bool_ else pm.shift(value, 0)


class AssignNode(Node):
    """Writes a variable; its result is the value after."""

    assigns = True

    def __init__(self, target: VariableNode, how: str, value: Any) -> None:
        super().__init__(None, (value,), name=how.title().replace("_", ""))
        self.target, self.how = target, how
        typed = Typed(target.dtype, target.shape.as_list())
        self.outputs = [Tensor(Record(self, 0, (typed, typed)))]
        self.structure = self.outputs[0]

    def evaluate(self, replay: Replay) -> list[Any]:
        from ._variable import write

        (value,) = replay.substitute(self.args)
        variable = replay.variable(self.target)  # type: ignore[attr-defined]
        if self.how == "initialize":
            replay.initialize(self.target, value)  # type: ignore[attr-defined]
        else:
            write(variable, self.how, value, self.target.name)
        return [Tensor(traced_copy(variable.value))]


class GroupNode(Node):
    """Runs others."""

    assigns = True

    def __init__(self, nodes: list[Node], name: str) -> None:
        super().__init__(None, name=name)
        self.nodes = nodes

    def needs(self) -> Iterable[Node]:
        return [*self.nodes, *self.controls]

    def evaluate(self, replay: Replay) -> list[Any]:
        return []


class GradientNode(Node):
    """Derivatives of targets by sources, by a tape around the replay."""

    def __init__(self, targets: list[Any], sources: list[Any], seeds: list[Any]) -> None:
        super().__init__(None, (targets, [each for each in seeds if each is not None]), name="gradients")
        self.targets, self.sources, self.seeds = targets, sources, seeds
        self.source_nodes = [node_of(each) for each in sources]
        self.inputs = [*self.inputs, *(each for each in self.source_nodes if each not in self.inputs)]
        self.level = 1 + _deepest([node_of(each) for each in targets])
        self.outputs = []
        for i, each in enumerate(sources):
            dims: Any = TensorShape(each.shape).as_list() if _full(each) else _probe(each, 0)
            typed = Typed(as_dtype(each.dtype), dims)
            other = typed if _full(each) else Typed(as_dtype(each.dtype), _probe(each, 1))
            self.outputs.append(Tensor(Record(self, i, (typed, other))))
        self.structure = self.outputs

    def evaluate(self, replay: Replay) -> list[Any]:
        tape = replay.tapes[self.level - 1]
        targets = replay.substitute(self.targets)
        by = [
            replay.variable(node) if isinstance(node, VariableNode)  # type: ignore[attr-defined]
            else replay.values[node][record_of(source).index]._value
            for source, node in zip(self.sources, self.source_nodes)
        ]
        totals: list[Any] = [None] * len(by)
        for target, seed in zip(targets, self.seeds):
            weight = None if seed is None else replay.substitute(seed)._value
            plain = [each.value if isinstance(each, pm.Variable) else each for each in by]
            for i, found in enumerate(tape.gradient(target._value, plain, weight)):
                if found is not None:
                    totals[i] = found if totals[i] is None else totals[i] + found
        return [
            Tensor(pm.zeros_like(each.value if isinstance(each, pm.Variable) else each) if total is None else total)
            for total, each in zip(totals, by)
        ]


def record_of(value: Any) -> Record:
    return _symbolic(value)._value  # type: ignore[no-any-return]


def _symbolic(value: Any) -> Any:
    """The symbolic tensor of a variable; other values themselves."""
    swap = getattr(value, "_graph_tensor", None)
    found = None if swap is None else swap()
    return value if found is None else found


def _full(value: Any) -> bool:
    return TensorShape(value.shape).is_fully_defined()


def _probe(value: Any, run: int) -> Any:
    return record_of(value).probes[run].shape


def _deepest(nodes: list[Node]) -> int:
    """How many gradients of gradients lead to these nodes."""
    most = 0
    for each in Replay({}).order(nodes):
        if isinstance(each, GradientNode):
            most = max(most, each.level)
    return most


def _reaches(targets: list[Node]) -> set[int]:
    return {id(each) for each in Replay({}).order(targets)}


def symbolic_gradients(ys: Any, xs: Any, grad_ys: Any = None, unconnected: Any = None) -> list[Any]:
    """Nodes for the derivatives of ys by xs; None where nothing leads from one to the other."""
    targets = [each if isinstance(each, Tensor) else convert_to_tensor(each) for each in _nest.flatten(ys)]
    sources = _nest.flatten(xs)
    seeds = _nest.flatten(grad_ys) if grad_ys is not None else [None] * len(targets)
    reached = _reaches([node_of(each) for each in targets])
    connected = [id(node_of(each)) in reached for each in sources]
    wanted = [each for each, on in zip(sources, connected) if on]
    found = iter(GradientNode(targets, wanted, seeds).outputs if wanted else [])
    return [next(found) if on else None for on in connected]


def declare_variable(variable: Any, graph: Graph, initial: Any, dtype: Any, name: str, collections: Any) -> None:
    """Makes `variable` one of a graph: its first value is an op of the graph."""
    with graph.control_dependencies(None):  # variables are there before any op runs
        value = initial() if callable(initial) else initial
        made = value if isinstance(value, Tensor) and dtype is None else convert_to_tensor(value, dtype)
        if not isinstance(made._value, Record):
            made = record(convert_to_tensor, (made,), {}, "initial_value")
        node = VariableNode(variable, name, made)
        variable._node, variable._name, variable._strings = node, node.name, None
        assign_node = AssignNode(node, "initialize", made)
        node.initializer = assign_node
    for each in collections or ["variables", *(["trainable_variables"] if variable.trainable else [])]:
        graph.add_to_collection(each, variable)


def assign(variable: Any, how: str, value: Any) -> Any:
    """The op that writes a variable of a graph."""
    made = convert_to_tensor(value, variable.dtype)
    variable.shape.assert_is_compatible_with(made.shape if made.shape.rank or how == "assign" else variable.shape)
    return AssignNode(variable._node, how, made).outputs[0]


def group(values: list[Any], name: str | None) -> Node:
    return GroupNode([node_of(each) for each in values if each is not None], name or "group_deps")


class CallNode(Node):
    """Calls a function that may write variables, with values: optimizers."""

    assigns = True

    def __init__(self, call: Callable[[Replay], None], inputs: list[Node], name: str) -> None:
        super().__init__(None, name=name)
        self._run, self.inputs = call, inputs

    def evaluate(self, replay: Replay) -> list[Any]:
        self._run(replay)
        return []


def find_records(value: Any) -> list[Record]:
    return records_in(value)
