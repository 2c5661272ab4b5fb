"""tf.compat.v1.Session: runs parts of a graph. Each call with new shapes is traced and planned once;
the memory is the session's, and is back with the system when it is closed."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _custom, _nest
from ._config import current_device, mind_others
from ._convert import convert_to_tensor
from ._errors import FailedPreconditionError, InvalidArgumentError, unsupported
from ._graph import (
    AssignNode, GradientNode, Graph, VariableNode, default_graph, node_of, traced_copy,
)
from ._state import state
from ._symbolic import InputNode, Node, Record, Replay
from ._tensor import Tensor, to_numpy
from ._variable import Variable

_numbers = itertools.count(1)
_open = threading.local()


class SessionReplay(Replay):
    """A replay with the variables of a session."""

    def __init__(self, session: BaseSession, feeds: dict[Node, list[Any]]) -> None:
        super().__init__(feeds)
        self.session = session

    def variable(self, node: VariableNode) -> pm.Variable:
        found = self.session._variables.get(node)
        if found is None:
            raise FailedPreconditionError(
                None, None,
                f"Could not find variable {node.name}. This could mean that the variable has not been "
                "initialized: run tf.compat.v1.global_variables_initializer() in this session first",
            )
        return found

    def initialize(self, node: VariableNode, value: Any) -> None:
        raise AssertionError("variables are initialized outside of plans")


class Composite:
    """What can be fetched besides tensors: something made of the values of several."""

    name: str
    tensors: list[Any]

    def finish(self, values: list[Any], session: BaseSession) -> Any:
        raise NotImplementedError

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        return session_for(session, "eval").run(self, feed_dict)


class BaseSession:
    """Runs ops of a graph and evaluates its tensors.

    >>> with tf.compat.v1.Session() as session:
    ...     session.run(y, feed_dict={x: values})
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        if target:
            unsupported("tf.compat.v1.Session", f"target={target!r}", "sessions run in this process")
        self.graph = graph or default_graph()
        self._limit = getattr(config, "memory_limit", lambda: None)()
        self._session: pm.Session | None = None
        self._variables: dict[VariableNode, pm.Variable] = {}
        self._plans: dict[Any, tuple[_core.PlannedFunction, Any]] = {}
        self.iterators: dict[Any, Any] = {}  # of datasets, which every session runs for itself
        self._closed = False
        self._entered: list[Any] = []

    # -- life ------------------------------------------------------------------------------------

    @property
    def _device(self) -> pm.Device:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if self._session is None:
            name = f"session{next(_numbers)}"
            self._session = current_device().session(name, limit=self._limit)
        return self._session.device

    def close(self) -> None:
        """Gives all memory of the session back."""
        self._closed = True
        self._plans.clear()
        self.iterators.clear()
        self._variables.clear()
        if self._session is not None:
            self._session.close()
            self._session = None

    def __enter__(self) -> BaseSession:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        stack = _stack()
        stack.append(self)
        self._entered.append(state.graph)
        state.graph = self.graph
        return self

    def __exit__(self, *raised: Any) -> None:
        _stack().remove(self)
        state.graph = self._entered.pop()
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            try:
                self.close()
            except Exception:  # the interpreter's end, or arrays that still share its memory
                pass

    def as_default(self) -> Any:
        return _AsDefault(self)

    # -- running ---------------------------------------------------------------------------------

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Values of the fetches, in their structure, as NumPy arrays; None for operations."""
        if run_metadata is not None:
            unsupported("Session.run", "run_metadata", "tf.profiler.experimental.start(folder) before the run")
        device = self._device
        leaves = _nest.flatten(fetches)
        parts = [each.tensors if isinstance(each, Composite) else [each] for each in leaves]
        wanted = [self._element(each) for part in parts for each in part]
        fed, constants = self._feeds(feed_dict or {})
        nodes = [each if isinstance(each, Node) else each._value.node for each in wanted]
        self._take_elements(nodes, fed, constants)
        self._initialize(nodes, {**constants, **{node: [Tensor(x)] for node, x in fed.items()}})
        results = iter(self._planned(nodes, wanted, fed, constants, device))
        values = [[next(results) for _ in part] for part in parts]
        return _nest.pack_sequence_as(fetches, [
            leaf.finish(found, self) if isinstance(leaf, Composite) else found[0] for leaf, found in zip(leaves, values)
        ])

    def _element(self, fetch: Any) -> Any:
        if isinstance(fetch, str):
            fetch = self.graph.as_graph_element(fetch)
        if isinstance(fetch, Variable):
            fetch = fetch._graph_tensor()
        if isinstance(fetch, Node):
            return fetch
        if isinstance(fetch, Tensor) and isinstance(fetch._value, Record):
            if fetch._value.node.graph is not None and fetch._value.node.graph is not self.graph:
                raise ValueError(f"Tensor {fetch!r} is not an element of this graph.")
            return fetch
        raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)}, must be a string or Tensor. (Can not convert a {type(fetch).__name__} into a Tensor or Operation.)")

    def _feeds(self, feed_dict: Any) -> tuple[dict[Node, Any], dict[Node, list[Any]]]:
        fed: dict[Node, Any] = {}
        constants: dict[Node, list[Any]] = {}
        for key, value in feed_dict.items():
            tensor = self.graph.as_graph_element(key) if isinstance(key, str) else key
            node = node_of(tensor)
            if isinstance(value, Tensor) and isinstance(value._value, Record):
                raise TypeError("The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, lists, numpy ndarrays.")
            dtype = tensor.dtype
            if isinstance(value, np.ndarray) and value.dtype.kind != "O" and dtype.name != "string":
                value = value.astype(dtype.as_numpy_dtype, copy=False)
            before, state.replaying = state.replaying, 1
            try:
                made = convert_to_tensor(value, dtype)
            finally:
                state.replaying = before
            if isinstance(node, InputNode) and not node.shape.is_compatible_with(made.shape):
                raise ValueError(f"Cannot feed value of shape {made.shape} for Tensor {node.name}:0, which has shape {node.shape}")
            if isinstance(made._value, pm.Tensor) and len(node.outputs) == 1:
                elsewhere = self._device.kind == "cuda" and made._value.device != self._device
                fed[node] = made._value.to(self._device) if elsewhere else made._value
            else:
                constants[node] = [made] * max(len(node.outputs), 1)
        return fed, constants

    def _take_elements(self, nodes: list[Node], fed: dict[Node, Any], constants: dict[Node, list[Any]]) -> None:
        """Feeds the next elements of the datasets that the nodes read."""
        for node in SessionReplay(self, {}).order(nodes):
            source = node.source if isinstance(node, InputNode) else None
            if source is None or node in fed or node in constants:
                continue
            before, state.replaying = state.replaying, 1
            try:
                element = source.values(self)
            finally:
                state.replaying = before
            for each, made in element.items():
                if isinstance(made._value, pm.Tensor):
                    elsewhere = self._device.kind == "cuda" and made._value.device != self._device
                    fed[each] = made._value.to(self._device) if elsewhere else made._value
                else:
                    constants[each] = [made]

    def _initialize(self, nodes: list[Node], values: dict[Node, list[Any]]) -> None:
        """Gives variables that are initialized here their first values: outside of plans."""
        replay = SessionReplay(self, values)
        found = [each for each in replay.order(nodes) if isinstance(each, AssignNode) and each.how == "initialize"]
        begun = [each.args[0]._value for each in found]
        several = {each.node for i, each in enumerate(begun) if any(each.node is b.node for b in begun[:i])}
        drawn: dict[Node, list[Any]] = {}  # what several variables begin with is drawn once
        for each in found:
            (made,) = each.args
            before, state.replaying = state.replaying, 1
            try:
                with _core._Here(self._device):
                    replay = SessionReplay(self, {**values, **drawn})
                    (value,) = replay.run([made._value])
            finally:
                state.replaying = before
            if made._value.node in several:
                drawn[made._value.node] = replay.values[made._value.node]
            raw = value._value.to(self._device) if value._value.device != self._device else value._value.clone()
            known = self._variables.get(each.target)
            if known is not None:
                known.assign(raw)
            else:
                trained = each.target.variable.trainable
                self._variables[each.target] = pm.Variable(raw, name=each.target.name, trainable=trained)

    def _planned(self, nodes: list[Node], wanted: list[Any], fed: dict[Node, Any], constants: Any, device: pm.Device) -> list[Any]:
        order = sorted(fed, key=lambda node: node.name)
        skipped = {each for each in nodes if isinstance(each, AssignNode) and each.how == "initialize"}
        key = (tuple(id(each) for each in nodes), tuple(id(each) for each in order), tuple(sorted(id(c) for c in constants)))
        if key not in self._plans or constants:
            mind_others()
            self._plans[key] = (_core.PlannedFunction("Session.run", device, None, 8, None), {})
        planned, seen = self._plans[key]
        inputs = [fed[each] for each in order]
        signature = tuple((each.dtype, tuple(each.shape)) for each in inputs)

        def body(traced: list[Any]) -> list[Any]:
            feeds = {node: [Tensor(x)] for node, x in zip(order, traced)}
            replay = SessionReplay(self, {**constants, **feeds})
            replay.values.update({each: [None] for each in _initializers(replay, nodes)})
            _run(replay, nodes)
            outputs: list[Any] = []
            seen[signature] = [_outcome(each, replay, outputs, skipped) for each in wanted]
            return outputs

        if not any(isinstance(each, Tensor) for each in wanted) and not _does_something(nodes, skipped):
            return [None] * len(wanted)
        with _core._Here(device):
            results = planned.call(inputs, body)
        return [_numpy(each, results) for each in seen[signature]]

    def load_variable(self, variable: Variable, value: Any) -> None:
        found = self._variables.get(variable._node)
        raw = convert_raw(value, variable.dtype, self._device)
        if found is None:
            self._variables[variable._node] = pm.Variable(raw, name=variable._name, trainable=variable.trainable)
        else:
            found.assign(raw)

    def make_callable(self, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Any:
        keys = list(feed_list or [])
        return lambda *values: self.run(fetches, dict(zip(keys, values)))

    def partial_run(self, *_: Any, **__: Any) -> Any:
        unsupported("Session.partial_run", way="Session.run")

    def list_devices(self) -> list[Any]:
        from .config import list_logical_devices

        return list_logical_devices()

    @property
    def graph_def(self) -> Any:
        return self.graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        return ""


class Session(BaseSession):
    """See BaseSession."""


class InteractiveSession(BaseSession):
    """A session that is the default one from its construction on."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        _stack().append(self)

    def close(self) -> None:
        if self in _stack():
            _stack().remove(self)
        super().close()


class _AsDefault:
    def __init__(self, session: BaseSession) -> None:
        self._session = session
        self._before: Any = None

    def __enter__(self) -> BaseSession:
        _stack().append(self._session)
        self._before, state.graph = state.graph, self._session.graph
        return self._session

    def __exit__(self, *raised: Any) -> None:
        _stack().remove(self._session)
        state.graph = self._before


def convert_raw(value: Any, dtype: Any, device: pm.Device) -> pm.Tensor:
    before, state.replaying = state.replaying, 1
    try:
        made = convert_to_tensor(value, dtype)
    finally:
        state.replaying = before
    return made._value.to(device) if made._value.device != device else made._value.clone()  # type: ignore[no-any-return]


def _run(replay: SessionReplay, nodes: list[Node]) -> None:
    """Evaluates nodes under tapes for their gradients; those that write variables come last."""
    order = replay.order(nodes)
    gradients = [each for each in order if isinstance(each, GradientNode)]
    depth = max((each.level for each in gradients), default=0)
    replay.watched = {
        node for each in gradients for node in each.source_nodes if not isinstance(node, VariableNode)
    }
    _with_tapes(replay, depth, _before_writes(order))
    # The tapes are gone before variables change: they would need their old values.
    replay.tapes = []
    replay.run_nodes(nodes)


def _with_tapes(replay: SessionReplay, depth: int, nodes: list[Node]) -> None:
    replay.tapes = [_custom.tape(persistent=True) for _ in range(depth)]
    for tape in reversed(replay.tapes):
        tape.__enter__()
    try:
        for node in replay.watched & set(replay.values):
            for tape in replay.tapes:
                tape.watch([each._value for each in replay.values[node]])
        replay.run_nodes(nodes)
    finally:
        for tape in replay.tapes:
            tape.__exit__(None, None, None)


def _before_writes(order: list[Node]) -> list[Node]:
    """Nodes that neither write variables nor come after some that do."""
    late: set[int] = set()
    for each in order:
        if each.assigns or any(id(need) in late for need in each.needs()):
            late.add(id(each))
    return [each for each in order if id(each) not in late]


def _initializers(replay: SessionReplay, nodes: list[Node]) -> list[Node]:
    return [each for each in replay.order(nodes) if isinstance(each, AssignNode) and each.how == "initialize"]


def _does_something(nodes: list[Node], skipped: set[Any]) -> bool:
    from ._graph import GroupNode

    for each in nodes:
        if each in skipped:
            continue
        if isinstance(each, GroupNode):
            if _does_something(list(each.needs()), skipped | {n for n in each.needs() if isinstance(n, AssignNode) and n.how == "initialize"}):
                return True
            continue
        return True
    return False


def _outcome(fetch: Any, replay: SessionReplay, outputs: list[Any], skipped: set[Any]) -> Any:
    if isinstance(fetch, Node) or fetch._value.node in skipped:
        return None
    found = replay.values[fetch._value.node][fetch._value.index]
    if isinstance(fetch._value.node, VariableNode) and found.is_concrete:
        found = Tensor(traced_copy(found._value))
    if found.is_concrete:
        return found.numpy()
    outputs.append(found._value)
    return _At(len(outputs) - 1)


class _At:
    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def _numpy(found: Any, results: list[Any]) -> Any:
    if not isinstance(found, _At):
        return found
    array = to_numpy(results[found.index])
    return array[()] if array.ndim == 0 else array


def _stack() -> list[Any]:
    if not hasattr(_open, "stack"):
        _open.stack = []
    return _open.stack  # type: ignore[no-any-return]


def get_default_session() -> Any:
    return _stack()[-1] if _stack() else None


def session_for(session: Any, who: str) -> BaseSession:
    """The session that eval() and run() of tensors and ops use."""
    found = session or get_default_session()
    if found is None:
        raise ValueError(f"Cannot use `{who}()`: No default session is registered. Use `with sess.as_default()` or pass an explicit session to `{who}(session=sess)`")
    return found  # type: ignore[no-any-return]


def invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)
