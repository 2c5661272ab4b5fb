"""Running datasets: iterators over their elements."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Iterator, Sequence

from . import _core
from ._core import Budget, Device, Session
from ._mistakes import shown
from ._traceback import guarded, trim
from .errors import InvalidArgument

if TYPE_CHECKING:
    from ._dataset import Dataset


class Element(tuple[Any, ...]):
    """A tuple of components that have names: batch["image"] is one of them, and so is batch[0]."""

    __slots__ = ()
    names: ClassVar[tuple[str, ...]] = ()

    def __getitem__(self, key: Any) -> Any:
        try:
            return tuple.__getitem__(self, self._place(key) if isinstance(key, str) else key)
        except LookupError as error:
            trim(error, lambda *_: True)
            raise

    def _place(self, name: str) -> int:
        if name in self.names:
            return self.names.index(name)
        # Of "0/image", which zip() makes, the last part is enough if no other ends with it.
        ends = [i for i, each in enumerate(self.names) if each.rpartition("/")[2] == name]
        if len(ends) != 1:
            raise KeyError(f"there is no component '{name}'; there are: {', '.join(self.names)}")
        return ends[0]

    def __reduce__(self) -> Any:
        return tuple, (tuple(self),)


def element_of(names: Sequence[str]) -> type[Element] | None:
    """What elements with such names are; None where a tuple, or the only component, will do."""
    return None if len(names) < 2 or not any(names) else _named(tuple(names))


@functools.cache
def _named(names: tuple[str, ...]) -> type[Element]:
    """One class for the same names, so that functions know what they have been given before."""
    return type("Element", (Element,), {"__slots__": (), "names": names})


@guarded
class Pipeline:
    """A running dataset: an iterator over its elements. Dataset.iterate() makes one."""

    def __init__(
        self, dataset: Dataset | Plain, *, device: Device | Session | str | None = None,
        limit: int | str | None = None, threads: int = 0, seed: int = 0, skip_errors: int = 0,
        name: str = "pipeline",
    ) -> None:
        self._kept = dataset
        self._pipeline = _core._Pipeline(dataset, device, limit, threads, seed, skip_errors, name)
        self._element = element_of(dataset._dataset.names)

    def __iter__(self) -> Iterator[Any]:
        return self._pipeline if self._element is None else self

    def __next__(self) -> Any:
        element = next(self._pipeline)
        return element if self._element is None else self._element(element)

    def __repr__(self) -> str:
        return f"Pipeline({self._kept!r})"

    def rewind(self) -> None:
        """Begins the stream again, as a later epoch: shuffles differ."""
        self._pipeline.rewind()

    def pause(self) -> None:
        """Keeps the position and frees the buffers; next() continues."""
        self._pipeline.pause()

    def cancel(self) -> None:
        """Ends the stream: a next() that waits in another thread ends, too."""
        self._pipeline.cancel()

    def close(self) -> None:
        """Ends its threads and gives all memory back."""
        self._pipeline.close()

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def state_dict(self) -> dict[str, bytes]:
        """The position: what was received so far. Small, and can be pickled."""
        return {"position": self._pipeline.save()}

    def load_state_dict(self, state: Mapping[str, bytes]) -> None:
        """Goes to a position of the same pipeline: the same elements follow."""
        if not isinstance(state, Mapping):
            raise TypeError(f"[load_state_dict] state is {shown(state)}; it must be the dict that state_dict() gave")
        if "position" not in state:
            raise InvalidArgument("[load_state_dict] there is no \"position\"; give what state_dict() gave")
        self._pipeline.restore(state["position"])

    def stats(self) -> list[dict[str, Any]]:
        """What each stage has done and holds."""
        return self._pipeline.stats()

    def bottleneck(self) -> tuple[str, str, float] | None:
        """The stage to blame when the consumer waits, what would help, and its share of all work."""
        return self._pipeline.bottleneck()

    def skipped(self) -> list[tuple[str, str]]:
        """Elements that were left out: stage and message."""
        return self._pipeline.skipped()

    @property
    def budget(self) -> Budget:
        return self._pipeline.budget


class Plain:
    """A dataset without the pipeline that runs it, which would keep itself."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset._dataset
        self._kept = dataset._kept


class Iteration:
    """An iterator: it says whether it came to the end."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._next = pipeline._pipeline.__next__
        self._element = pipeline._element
        self.ended = False

    def __iter__(self) -> Iteration:
        return self

    def __next__(self) -> Any:
        if self.ended:
            raise StopIteration
        try:
            element = self._next()
            return element if self._element is None else self._element(element)
        except BaseException as error:
            self.ended = self._pipeline._pipeline.ended
            trim(error)
            raise


def by_component(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of an element that converts each component of it."""
    return lambda element: type(element)(map(convert, element)) if isinstance(element, tuple) else convert(element)


@guarded
class Converted:
    """A dataset whose elements are converted one by one, with a function of the whole element."""

    def __init__(self, dataset: Dataset, convert: Callable[[Any], Any], name: str) -> None:
        self._set = dataset
        self._convert = convert
        self._name = name

    def __repr__(self) -> str:
        return f"{self._set!r}.{self._name}()"

    def __iter__(self) -> Iterator[Any]:
        convert = self._convert
        try:
            for element in self._set:
                yield convert(element)
        except (Exception, KeyboardInterrupt) as error:
            trim(error)
            raise

    def __len__(self) -> int:
        return len(self._set)

    def state_dict(self) -> dict[str, bytes]:
        return self._set.state_dict()

    def load_state_dict(self, state: Mapping[str, bytes]) -> None:
        self._set.load_state_dict(state)
