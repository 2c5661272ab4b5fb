"""Iterators over datasets: each loop is another epoch of one pipeline, so that shuffles differ and
caches stay."""

from __future__ import annotations

import re
import weakref
from typing import TYPE_CHECKING, Any, Iterator

import plimsoll as pm
from plimsoll._pipeline import Iteration, Pipeline, Plain

from .._config import current_device, mind_others
from .._errors import InvalidArgumentError, NotFoundError, OutOfRangeError
from .._tensor import Tensor
from . import _structure
from ._caching import element_bytes
from ._seed import dataset_seed

if TYPE_CHECKING:
    from ._dataset import Dataset


_LARGE = 8 << 20
"""Elements of which a few more than necessary are worth avoiding."""
_KEEPS = re.compile(r"\b(shuffle|cache|window|interleave|flat_map|sample|group_by|bucket|zip|concatenate|scan)")


def _limit(dataset: pm.data.Dataset) -> int | None:
    """Room for the element in the loop's hands, the next one, and what makes them: one more would be made ahead
    while the loop lets the last one go. None where elements are small, unknown, or kept by a stage."""
    size = element_bytes(dataset)
    if size is None or size < _LARGE or _KEEPS.search(str(dataset._dataset.signature)):
        return None
    return size * 9 // 4 + _LARGE


class Limited(Iteration):
    """An iteration within a limit of its own, as long as the loop does not keep its elements."""

    def __init__(self, dataset: pm.data.Dataset, seed: int, pipeline: Pipeline | None = None) -> None:
        super().__init__(_pipeline(dataset, seed) if pipeline is None else pipeline)
        self.seed = seed

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except pm.OutOfMemory:
            budget = self._pipeline.budget
            if budget.limit == _ANY:
                raise
            budget.limit = _ANY  # from now on the device's own
            return super().__next__()


_ANY = 1 << 60


def _pipeline(dataset: pm.data.Dataset, seed: int) -> Pipeline:
    """Pipelines run on the CPU, also within tf.device('/GPU:0')."""
    mind_others()
    device = current_device()
    at = device if device.kind == "cpu" else "cpu"
    limit = _limit(dataset)
    if limit is not None and limit < current_device().budget.available:
        try:
            return Pipeline(Plain(dataset), device=at, seed=seed, limit=limit)
        except pm.BudgetTooSmall:  # its stages need more
            pass
    return Pipeline(Plain(dataset), device=at, seed=seed)


class Runs:
    """The pipeline of a dataset, kept between loops."""

    def __init__(self) -> None:
        self.pipeline: Pipeline | None = None
        self.seed = 0
        self.latest: weakref.ref[Iteration] | None = None

    def begin(self, dataset: pm.data.Dataset) -> Limited:
        before = self.latest() if self.latest is not None else None
        if before is not None and not before.ended:
            return Limited(dataset, dataset_seed())
        if self.pipeline is None:
            self.seed = dataset_seed()
            self.pipeline = _pipeline(dataset, self.seed)
        elif self.latest is not None:
            self.pipeline.rewind()
        made = Limited(dataset, self.seed, self.pipeline)
        self.latest = weakref.ref(made)
        return made


class Optional:
    """An element that may be missing: tf.experimental.Optional."""

    def __init__(self, element: list[Any]) -> None:
        self._element = element

    def has_value(self, name: str | None = None) -> Any:
        from .._convert import convert_to_tensor

        return convert_to_tensor(bool(self._element))

    def get_value(self, name: str | None = None) -> Any:
        if not self._element:
            raise InvalidArgumentError(None, None, "The given optional does not have a value.")
        return self._element[0]

    @staticmethod
    def from_value(value: Any) -> Optional:
        from .. import _nest
        from .._convert import convert_to_tensor

        return Optional([_nest.map_structure(convert_to_tensor, value)])

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        return Optional([])


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

    def get_next_as_optional(self) -> Optional:
        """The next element, or an Optional without a value at the end."""
        try:
            return Optional([next(self)])
        except StopIteration:
            return Optional([])

    @property
    def element_spec(self) -> Any:
        return self._dataset.element_spec

    def save_position(self) -> bytes:
        """What tf.train.Checkpoint keeps of it."""
        return self._iteration.seed.to_bytes(8, "little") + self._iteration._pipeline.state_dict()["position"]

    def restore_position(self, position: bytes) -> None:
        """The elements that followed when the position was saved come next."""
        restored = Limited(self._dataset._pm, int.from_bytes(position[:8], "little"))
        try:
            restored._pipeline.load_state_dict({"position": position[8:]})
        except pm.InvalidArgument as error:
            raise InvalidArgumentError(None, None, (
                f"the iterator cannot be restored: {error}. Of a dataset that draws random numbers, give each "
                "shuffle a seed, or call tf.random.set_seed() before creating it")) from None
        self._iteration = restored


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
