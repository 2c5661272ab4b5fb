"""Symbolic tensors: calls that are recorded, to be replayed into the C++ tracer once per signature.

A Node is one recorded call, a Record one of its results: what a symbolic tf.Tensor holds. Static
shapes come from running the call twice on shapes alone, unknown extents being 120 and then 240; what
differs is unknown. Values that follow from shapes (tf.shape(x)[0]) are numbers in both runs.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Iterable, Sequence

import plimsoll as pm
from plimsoll import _core

from . import _dtypes, _nest
from ._shape import TensorShape
from ._state import recording, state

PROBES = (120, 240)


class Typed:
    """What is known of a value in a run on shapes: its dtype and shape."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype: _dtypes.DType, shape: Sequence[int]) -> None:
        self.dtype, self.shape = dtype, tuple(shape)


class Record:
    """One result of a recorded call. `probes` has, for either run, a Typed or a concrete value; `masks` the
    same for the mask of a Keras layer's result, where it has one."""

    __slots__ = ("node", "index", "probes", "known", "masks")

    def __init__(
        self, node: Node, index: int, probes: tuple[Any, Any], known: TensorShape | None = None
    ) -> None:
        self.node, self.index, self.probes, self.known = node, index, probes, known
        self.masks: tuple[Any, Any] | None = None

    @property
    def dtype(self) -> _dtypes.DType:
        found = self.probes[0]
        return found.dtype if isinstance(found, Typed) else _dtypes.as_dtype(found.dtype)

    @property
    def static_shape(self) -> TensorShape:
        a, b = tuple(self.probes[0].shape), tuple(self.probes[1].shape)
        if len(a) != len(b):
            return TensorShape(None)
        return TensorShape([x if x == y else None for x, y in zip(a, b)])

    @property
    def name(self) -> str:
        fed = isinstance(self.node, InputNode) and getattr(self.node, "layer", None) is not None  # keras.Input
        return self.node.name if fed else f"{self.node.name}:{self.index}"

    def with_shape(self, shape: TensorShape) -> Record:
        """The same, with more known about its shape."""
        if not shape or any(not isinstance(each, Typed) for each in self.probes):
            return self
        made = [
            Typed(each.dtype, [p if s is None else s for p, s in zip(each.shape, shape)])
            for each in self.probes
        ]
        return Record(self.node, self.index, (made[0], made[1]), shape)


class Node:
    """A recorded call: `call(*args, **kwargs)` with tf.Tensors, some of them symbolic."""

    call: Callable[..., Any] | None
    assigns = False  # whether it changes variables: such are replayed last

    def __init__(
        self, call: Callable[..., Any] | None, args: Any = (), kwargs: Any = None,
        name: str | None = None,
    ) -> None:
        self.call, self.args, self.kwargs = call, args, kwargs or {}
        self.graph = recording()
        base = str(name or getattr(call, "__name__", "op"))
        self.name = self.graph.unique_name(base) if self.graph is not None else _unique(base)
        self.type = base
        self.inputs = _unique_nodes(records_in((self.args, self.kwargs)))
        self.controls: list[Node] = []
        self.structure: Any = None
        self.outputs: list[Any] = []
        if self.graph is not None:
            self.graph.add(self)
            self.controls = list(self.graph.controls())

    @property
    def device(self) -> str:
        return ""

    @property
    def op(self) -> Node:
        return self

    def needs(self) -> Iterable[Node]:
        return [*self.inputs, *self.controls]

    def evaluate(self, replay: Replay) -> list[Any]:
        """Its results, one by one, as tf.Tensors that are traced or have values."""
        assert self.call is not None
        args, kwargs = replay.substitute((self.args, self.kwargs))
        return _nest.flatten(self.call(*args, **kwargs))

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs it in a session: tf.Operation.run()."""
        from ._session import session_for

        session_for(session, "run").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


class InputNode(Node):
    """A value that is fed: a placeholder, keras.Input."""

    def __init__(self, name: str, dtype: _dtypes.DType, shape: TensorShape) -> None:
        super().__init__(None, name=name)
        self.dtype, self.shape = dtype, shape
        self.source: Any = None  # of the elements of a dataset, which a session takes

    def evaluate(self, replay: Replay) -> list[Any]:
        from ._errors import InvalidArgumentError

        raise InvalidArgumentError(
            None, None,
            f"You must feed a value for placeholder tensor '{self.name}' with dtype "
            f"{self.dtype.name} and shape {self.shape}",
        )


class Replay:
    """Recorded calls made again with values: feeds are values of nodes that are not called.

    >>> Replay({node: [tensor]}).run([record])
    """

    def __init__(self, feeds: dict[Node, list[Any]]) -> None:
        self.values: dict[Node, list[Any]] = dict(feeds)
        self.tapes: list[Any] = []  # pm.GradientTape, or what tf.custom_gradient needs
        self.watched: set[Node] = set()

    def substitute(self, structure: Any) -> Any:
        """A structure with the values of its symbolic tensors."""
        from ._tensor import Tensor

        def leaf(value: Any) -> Any:
            if isinstance(value, Tensor) and isinstance(value._value, Record):
                return self.values[value._value.node][value._value.index]
            swap = getattr(value, "_graph_tensor", None)
            if swap is not None and not isinstance(value, type):
                found = swap()
                return value if found is None else leaf(found)
            return value

        return _nest.map_structure(leaf, structure)

    def order(self, wanted: Iterable[Node]) -> list[Node]:
        """Nodes to call, each after what it needs."""
        done: set[int] = set()
        result: list[Node] = []
        for root in wanted:
            stack: list[tuple[Node, bool]] = [(root, False)]
            while stack:
                node, ready = stack.pop()
                if node in self.values or (id(node) in done):
                    continue
                if ready:
                    done.add(id(node))
                    result.append(node)
                    continue
                stack.append((node, True))
                stack.extend((each, False) for each in node.needs())
        return result

    def run(self, wanted: Sequence[Record]) -> list[Any]:
        """The values of records, as tf.Tensors."""
        self.run_nodes([each.node for each in wanted])
        return [self.values[each.node][each.index] for each in wanted]

    def run_nodes(self, nodes: Iterable[Node]) -> None:
        before = (state.inside, state.replaying)
        state.inside, state.replaying = False, before[1] + 1
        try:
            for node in self.order(nodes):
                if node in self.values:
                    continue
                found = node.evaluate(self)
                self.values[node] = found
                if node in self.watched:
                    for tape in self.tapes:
                        tape.watch([each._value for each in found])
        finally:
            state.inside, state.replaying = before


def records_in(structure: Any) -> list[Record]:
    """All symbolic values of a structure."""
    from ._tensor import Tensor

    found = []
    for each in _leaves(structure):
        if not isinstance(each, Tensor):
            swap = getattr(each, "_graph_tensor", None)
            each = swap() if swap is not None and not isinstance(each, type) else None
        if each is not None and isinstance(each._value, Record):
            found.append(each._value)
    return found


def _leaves(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def symbolic_input(shape: Any, dtype: Any, name: str = "input") -> Any:
    """A symbolic tensor that stands for what will be fed; extents may be None."""
    from ._tensor import Tensor

    made, known = TensorShape(shape), _dtypes.as_dtype(dtype)
    node = InputNode(name, known, made)
    dims = made.as_list() if made.rank is not None else [None]
    probes = [Typed(known, [size if each is None else each for each in dims]) for size in PROBES]
    tensor = Tensor(Record(node, 0, (probes[0], probes[1])))
    node.structure, node.outputs = tensor, [tensor]
    return tensor


def record(
    call: Callable[..., Any], args: Any, kwargs: Any = None, name: str | None = None,
    node: Node | None = None,
) -> Any:
    """Records `call(*args, **kwargs)`, whose symbolic tensors get values when it is replayed; gives
    symbolic tensors in the structure of its result. `call` takes and gives tf.Tensors."""
    from ._tensor import Tensor

    graph = recording()
    if graph is not None and graph.controls():
        args, kwargs = read_now((args, kwargs))
    made = node or Node(call, args, kwargs, name)
    given = records_in((args, kwargs or {}))
    same = all(each.probes[0] is each.probes[1] or _equal(each.probes) for each in given)
    runs = [_probe(call, args, kwargs or {}, given, 0)]
    runs.append(runs[0] if same else _probe(call, args, kwargs or {}, given, 1))
    found = [_nest.flatten(each) for each in runs]
    made.outputs = [
        Tensor(Record(made, index, (_outcome(a), _outcome(b)))) if isinstance(a, Tensor) else a
        for index, (a, b) in enumerate(zip(*found))
    ]
    for each, a, b in zip(made.outputs, *found):
        masks = [getattr(part, "_keras_mask", None) for part in (a, b)]
        if isinstance(each, Tensor) and all(isinstance(mask, Tensor) for mask in masks):
            each._value.masks = tuple(_outcome(mask) for mask in masks)
    made.structure = _nest.pack_sequence_as(runs[0], made.outputs)
    return made.structure


def read_now(structure: Any) -> Any:
    """Variables of a graph as their values at this point, after the ops of tf.control_dependencies."""
    def leaf(value: Any) -> Any:
        swap = getattr(value, "_graph_tensor", None)
        return value if swap is None or isinstance(value, type) or swap() is None else value.read_value()

    return _nest.map_structure(leaf, structure)


def _probe(call: Callable[..., Any], args: Any, kwargs: Any, given: list[Record], run: int) -> Any:
    """The result of a call on shapes alone."""
    from ._tensor import Tensor

    before = (state.inside, state.replaying)
    state.inside, state.replaying = False, before[1] + 1
    try:
        with _core._Shapes() as shapes:
            feeds: dict[Node, list[Any]] = {}
            for each in given:
                probe = each.probes[run]
                if isinstance(probe, Typed):
                    probe = _stand_in(shapes, probe)
                values = feeds.setdefault(each.node, [])
                values.extend([None] * (each.index + 1 - len(values)))
                values[each.index] = Tensor(probe)
                if each.masks is not None:
                    mask = each.masks[run]
                    mask = _stand_in(shapes, mask) if isinstance(mask, Typed) else mask
                    values[each.index]._keras_mask = Tensor(mask)
            args, kwargs = Replay(feeds).substitute((args, kwargs))
            return call(*args, **kwargs)
    except Exception as error:
        _without_probes(error)
        raise
    finally:
        state.inside, state.replaying = before


def _without_probes(error: Exception) -> None:
    """Shapes in a message as people know them: None where an extent is not known."""
    if len(error.args) == 1 and isinstance(error.args[0], str):
        text = re.sub(rf"(?<=[\[(,]){PROBES[0]}(?=[,\])])", "None", error.args[0])
        text = re.sub(rf"(?<=, ){PROBES[0]}(?=[,\])])", "None", text)
        error.args = (text,)
        if hasattr(error, "message"):
            error.message = text


def _stand_in(shapes: Any, probe: Typed) -> Any:
    if probe.dtype.pm is None or probe.dtype is _dtypes.string:
        from ._errors import unsupported

        unsupported(f"a symbolic tensor of {probe.dtype.name} as an argument of an op")
    return shapes.input(probe.dtype.pm, probe.shape)


def _outcome(tensor: Any) -> Any:
    value = tensor._value
    if isinstance(value, pm.Tensor) and (value.is_symbolic or value.size > 4096):
        return Typed(_dtypes.BY_PM[value.dtype], value.shape)
    return value


def _equal(probes: tuple[Any, Any]) -> bool:
    a, b = probes
    return isinstance(a, Typed) and isinstance(b, Typed) and a.shape == b.shape


def _unique_nodes(records: Iterable[Record]) -> list[Node]:
    return list({id(each.node): each.node for each in records}.values())


_counts: dict[str, int] = {}


def _unique(base: str) -> str:
    count = _counts.get(base, 0)
    _counts[base] = count + 1
    return base if count == 0 else f"{base}_{count}"
