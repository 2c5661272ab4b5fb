"""Iterators of TensorFlow 1: their elements are tensors of a graph, and each Session.run takes the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _nest
from .._errors import FailedPreconditionError, OutOfRangeError
from .._graph import graph_mode
from .._session import BaseSession, Composite
from .._symbolic import InputNode, symbolic_input
from .._tensor import Tensor, TensorSpec
from ._running import OwnedIterator

if TYPE_CHECKING:
    from ._dataset import Dataset


class _Initializer(Composite):
    """Begins an iterator anew in the session that runs it."""

    def __init__(self, iterator: GraphIterator, dataset: Dataset) -> None:
        self.name, self.tensors = "MakeIterator", []
        self._iterator, self._dataset = iterator, dataset

    def finish(self, values: list[Any], session: BaseSession) -> None:
        session.iterators[self._iterator] = OwnedIterator(self._dataset)

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        self.eval(feed_dict, session)


class _Next:
    """One get_next(): the placeholders that an element goes to."""

    def __init__(self, iterator: GraphIterator, nodes: list[InputNode]) -> None:
        self._iterator, self._nodes = iterator, nodes

    def values(self, session: BaseSession) -> dict[Any, Tensor]:
        running = session.iterators.get(self._iterator)
        if running is None:
            if self._iterator.dataset is None or self._iterator.initializable:
                raise FailedPreconditionError(
                    None, None, "GetNext() failed because the iterator has not been initialized. Ensure that you have run "
                    "the initializer operation for this iterator before getting the next element.")
            running = session.iterators[self._iterator] = OwnedIterator(self._iterator.dataset)
        try:
            element = next(running)
        except StopIteration:
            raise OutOfRangeError(None, None, "End of sequence") from None
        return dict(zip(self._nodes, _nest.flatten(element)))


class GraphIterator:
    """What make_one_shot_iterator and make_initializable_iterator give."""

    def __init__(self, dataset: Dataset | None, element_spec: Any, initializable: bool) -> None:
        self.dataset, self.element_spec, self.initializable = dataset, element_spec, initializable
        self._running: OwnedIterator | None = None

    @staticmethod
    def from_structure(output_types: Any, output_shapes: Any = None, shared_name: Any = None, output_classes: Any = None) -> GraphIterator:
        """An iterator for any dataset of that structure: run make_initializer(dataset) first."""
        if output_shapes is None:
            raise ValueError("output_shapes must be given: tf.data.Iterator.from_structure(types, shapes)")
        return GraphIterator(None, _specs(output_types, output_shapes), True)

    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Any:
        return _Initializer(self, dataset)

    @property
    def initializer(self) -> Any:
        if self.dataset is None or not self.initializable:
            raise ValueError("Iterator does not have an initializer." if self.dataset is not None else
                             "Iterator.from_structure has no dataset yet: run iterator.make_initializer(dataset)")
        return _Initializer(self, self.dataset)

    def get_next(self, name: str | None = None) -> Any:
        if not graph_mode():
            return next(self)
        tensors = []
        for spec in _nest.flatten(self.element_spec):
            tensors.append(symbolic_input(spec.shape, spec.dtype, name or "IteratorGetNext"))
        nodes = [each._value.node for each in tensors]
        source = _Next(self, nodes)
        for node in nodes:
            node.source = source
        return _nest.pack_sequence_as(self.element_spec, tensors)

    def __iter__(self) -> GraphIterator:
        return self

    def __next__(self) -> Any:
        if self._running is None:
            if self.dataset is None:
                raise ValueError("this iterator has no dataset; in eager code, loop over the dataset itself")
            self._running = OwnedIterator(self.dataset)
        return next(self._running)

    @property
    def output_shapes(self) -> Any:
        return _nest.map_structure(lambda spec: spec.shape, self.element_spec)

    @property
    def output_types(self) -> Any:
        return _nest.map_structure(lambda spec: spec.dtype, self.element_spec)


def _specs(types: Any, shapes: Any) -> Any:
    if isinstance(types, dict):
        return {key: _specs(each, shapes[key]) for key, each in types.items()}
    if isinstance(types, (list, tuple)):
        return tuple(_specs(each, shape) for each, shape in zip(types, shapes))
    return TensorSpec(shapes, types)


class HasGraphIterators:
    """The methods of TensorFlow 1's Dataset."""

    def make_one_shot_iterator(self: Any) -> GraphIterator:
        return GraphIterator(self, self.element_spec, False)

    def make_initializable_iterator(self: Any, shared_name: Any = None) -> GraphIterator:
        return GraphIterator(self, self.element_spec, True)

    @property
    def output_shapes(self: Any) -> Any:
        return _nest.map_structure(lambda spec: spec.shape, self.element_spec)

    @property
    def output_types(self: Any) -> Any:
        return _nest.map_structure(lambda spec: spec.dtype, self.element_spec)
