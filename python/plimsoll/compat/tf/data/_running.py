"""Iterators over datasets: each loop is another epoch of one pipeline, so that shuffles differ and
caches stay."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Iterator

import plimsoll as pm
from plimsoll._pipeline import Iteration, Pipeline, Plain

from .._config import current_device
from .._errors import InvalidArgumentError, NotFoundError, OutOfRangeError
from .._tensor import Tensor
from . import _structure
from ._seed import dataset_seed

if TYPE_CHECKING:
    from ._dataset import Dataset


def _pipeline(dataset: pm.data.Dataset) -> Pipeline:
    """Pipelines run on the CPU, also within tf.device('/GPU:0')."""
    device = current_device()
    return Pipeline(Plain(dataset), device=device if device.kind == "cpu" else "cpu", seed=dataset_seed())


class Runs:
    """The pipeline of a dataset, kept between loops."""

    def __init__(self) -> None:
        self.pipeline: Pipeline | None = None
        self.latest: weakref.ref[Iteration] | None = None

    def begin(self, dataset: pm.data.Dataset) -> Iteration:
        before = self.latest() if self.latest is not None else None
        if before is not None and not before.ended:
            return Iteration(_pipeline(dataset))
        if self.pipeline is None:
            self.pipeline = _pipeline(dataset)
        elif self.latest is not None:
            self.pipeline.rewind()
        made = Iteration(self.pipeline)
        self.latest = weakref.ref(made)
        return made


class OwnedIterator:
    """An iterator over the elements of a dataset: tf.Tensors in their structure."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._iteration = dataset._begin()
        self._structure = dataset._structure

    def __iter__(self) -> OwnedIterator:
        return self

    def __next__(self) -> Any:
        try:
            element = next(self._iteration)
        except pm.DataError as error:
            raise as_tf_error(error) from (error.__cause__ or error)
        return _structure.rebuilt(self._structure, element)

    def get_next(self) -> Any:
        """The next element; tf.errors.OutOfRangeError at the end."""
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError(None, None, "End of sequence") from None

    def get_next_as_optional(self) -> Any:
        raise NotImplementedError(
            "Iterator.get_next_as_optional is not supported by plimsoll.compat.tf; use next(iterator, None)"
        )

    @property
    def element_spec(self) -> Any:
        return self._dataset.element_spec


def as_tf_error(error: pm.DataError) -> Exception:
    """What tf.data raises for an element that fails."""
    text = str(error)
    cause = error.__cause__
    if isinstance(cause, NotImplementedError):
        return cause
    missing = "No such file" in text or "cannot be opened" in text
    return (NotFoundError if missing else InvalidArgumentError)(None, None, text)


class NumpyIterator:
    """An iterator over the same elements as NumPy arrays."""

    def __init__(self, dataset: Dataset) -> None:
        self._inner = iter(dataset)

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> Any:
        from .. import _nest

        element = next(self._inner)
        return _nest.map_structure(lambda x: x.numpy() if isinstance(x, Tensor) else x, element)


def loop(dataset: Dataset) -> Iterator[Any]:
    return OwnedIterator(dataset)
