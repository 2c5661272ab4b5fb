"""Datasets: descriptions of streams of elements."""

from __future__ import annotations

import inspect
import os
import threading
import weakref
from typing import Any, Callable, Iterator, Mapping, Sequence

from . import _core
from ._cell import Cell
from ._core import Device, MapFunction, Program, Session, Tensor, _records, _stages
from ._pipeline import Converted, Iteration, Pipeline, Plain, by_component
from ._traceback import guarded
from .errors import InvalidArgument

Path = str | os.PathLike[str]
# (dtype, shape) of each component, or the dtype of one that is a number; in a dict, by name.
_Component = tuple[Any, Sequence[int | None] | None] | Any
Spec = Sequence[_Component] | Mapping[str, _Component]


def shown(value: Any) -> str:
    """A value in a message: a list_iterator rather than its address, an array's shape and not its numbers."""
    text = repr(value)
    if isinstance(getattr(value, "shape", None), tuple):
        return f"a {type(value).__name__} of shape {value.shape}"
    return f"a {type(value).__name__}" if " at 0x" in text or "\n" in text else text


def in_order(spec: Any, element: Any, who: str) -> Any:
    """The components of an element that is a dict, in the order of a spec that names them."""
    if not isinstance(element, Mapping) or not isinstance(spec, Mapping):
        return element
    if element.keys() != spec.keys():
        raise InvalidArgument(
            f"[{who}] an element has {', '.join(map(str, element))}, and spec states {', '.join(map(str, spec))}"
        )
    return tuple(element[name] for name in spec)


def name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"{getattr(function, '__module__', '')}.{name}".lstrip(".")


def as_function(value: Any, who: str) -> Callable[..., Any]:
    if not callable(value):
        raise TypeError(f"[{who}] function is {shown(value)}; it must be a function of the components")
    found: Callable[..., Any] = value
    return found


def fits(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with that many arguments, as far as can be told."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True  # of ours, say, which answer for themselves
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def traced(dataset: _core._Dataset, function: Callable[..., Any]) -> Program:
    """The program of a function."""

    def call(*components: Any) -> Any:
        try:
            return function(*components)
        except TypeError as error:
            if not fits(function, len(components)):
                raise TypeError(
                    f"[map] the function does not take the {len(components)} components of an element, "
                    f"{dataset.spec_text}: {error}; it gets each as an argument of its own"
                ) from None
            raise

    return _core._trace(dataset, call, True)


@guarded
class Dataset:
    """A description of a stream of elements. Immutable: each method gives a new one. Nothing runs
    before it is iterated or trained on, within the budget of the device.

    An element is a tuple of components, or the component itself if there is one: tensors, Python
    numbers, bytes. Components that have names are also found by them: batch["image"].
    """

    def __init__(self, dataset: _core._Dataset, kept: tuple[Any, ...] = ()) -> None:
        if not isinstance(dataset, _core._Dataset):
            raise TypeError(
                f"[Dataset] it cannot be made of {shown(dataset)}; pm.data.from_tensor_slices((x, y)), from_generator, "
                "image_folder and others make datasets"
            )
        self._dataset = dataset
        # The Python functions in it, which C++ reaches weakly.
        self._kept = kept
        self._running: Pipeline | None = None
        self._iterator: weakref.ref[Iteration] | None = None
        self._resumed = False
        self._lock = threading.Lock()

    def _with(self, dataset: _core._Dataset, *more: Any) -> Dataset:
        return Dataset(dataset, self._kept + more)

    # Stages.

    def map(
        self, function: MapFunction | Program | Callable[..., Any], *, python: bool = False,
        parallel: int | None = None, ordered: bool = True, spec: Spec | None = None,
    ) -> Dataset:
        """Applies a function of the components to each element.

        `function` is called once, now, with symbolic components, and becomes a program that runs on
        the pipeline's threads without Python: arithmetic, pm.image, pm.strings and most ops. What
        cannot be traced is an error at its line. A MapFunction such as pm.data.load_images(...) is
        taken as it is.

        With python=True the function is called for each element, with NumPy arrays, and gives the
        new components; `spec` says what they are: [(pm.f32, (224, 224, 3)), (pm.i64, ())]. It runs in
        threads of its own, so that one that waits, for a server say, holds nothing else up.

        `parallel` is how many run at a time; None: as many as there are threads, and one of a Python
        function.

        >>> files.map(lambda image, label: (pm.image.resize(image, 224) / 255, label))
        """
        if isinstance(function, MapFunction):
            return self._with(_core._map_native(self._dataset, function, parallel, ordered))
        if isinstance(function, Program):
            return self._with(_core._map_program(self._dataset, function, parallel, ordered))
        as_function(function, "map")
        if not python:
            program = traced(self._dataset, function)
            return self._with(_core._map_program(self._dataset, program, parallel, ordered))
        cell = Cell(function)
        if isinstance(spec, Mapping):
            cell = Cell(lambda *components: in_order(spec, function(*components), "map"))
        made = _core._map_python(
            self._dataset, cell, spec, 1 if parallel is None else parallel, ordered, name_of(function)
        )
        return self._with(made, cell)

    def trace(self, function: Callable[..., Any]) -> Program:
        """The program that map(function) would run: printed, it is a list of instructions."""
        return traced(self._dataset, as_function(function, "trace"))

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """Keeps the elements for which `predicate`, a Python function of the components, is true."""
        cell = Cell(as_function(predicate, "filter"))
        return self._with(_core._filter_python(self._dataset, cell, name_of(predicate)), cell)

    def flat_map(self, function: Callable[..., Dataset]) -> Dataset:
        """The elements of the dataset that `function` gives for each element, one after the other."""
        cell = Cell(as_function(function, "flat_map"))
        return self._with(_core._flat_map_python(self._dataset, cell, name_of(function)), cell)

    def interleave(
        self, function: Callable[..., Dataset], *, cycle_length: int = 4, block_length: int = 1,
        parallel: int = 1,
    ) -> Dataset:
        """The elements of the datasets that `function` gives, from several of them at a time by turns."""
        cell = Cell(as_function(function, "interleave"))
        made = _core._interleave_python(
            self._dataset, cell, cycle_length, block_length, parallel, name_of(function)
        )
        return self._with(made, cell)

    def batch(self, size: int, *, drop_remainder: bool = False) -> Dataset:
        """Puts `size` elements together: each component gets a first dimension."""
        return self._with(self._dataset.batch(size, drop_remainder))

    def padded_batch(
        self, size: int, *,
        shapes: Sequence[Sequence[int | None]] | Mapping[str, Sequence[int | None]] | None = None,
        values: Sequence[Any] | Mapping[str, Any] | int | float | None = None, drop_remainder: bool = False,
    ) -> Dataset:
        """Batches of elements whose extents differ: shorter ones are padded at their ends with `values`.
        These, and the `shapes` to pad to, are lists of one for each component, or dicts by name; a number is
        the value for all."""
        if isinstance(values, (int, float)):
            values = [values] * max(1, len(self._dataset.spec))
        shapes, values = self._by_component(shapes, "shapes"), self._by_component(values, "values")
        return self._with(self._dataset.padded_batch(size, shapes, values, drop_remainder))

    def _by_component(self, given: Any, what: str) -> Any:
        if isinstance(given, Mapping):
            if given.keys() != set(self.names):
                raise InvalidArgument(
                    f"[padded_batch] {what} has {', '.join(map(str, given))}, and elements have "
                    f"{', '.join(self.names) or 'no names'}"
                )
            return [given[name] for name in self.names]
        if given is not None and not isinstance(given, (list, tuple)):
            raise TypeError(f"[padded_batch] {what} is {shown(given)}; give a list with one for each component")
        if what == "shapes" and given is not None:
            for each in given:
                if not isinstance(each, (list, tuple)):
                    raise TypeError(f"[padded_batch] shapes has {shown(each)}; give the shape of each component: [(10,), ()]")
        return given

    def window(
        self, size: int, *, shift: int | None = None, stride: int = 1, drop_remainder: bool = False
    ) -> Dataset:
        """Windows of `size` elements, each put together as batch() does."""
        return self._with(self._dataset.window(size, shift, stride, drop_remainder))

    def unbatch(self) -> Dataset:
        """The elements of each batch one by one."""
        return self._with(self._dataset.unbatch())

    def shuffle(
        self, window: int | None = None, *, bytes: int | str | None = None, seed: int | None = None,
        reshuffle_each_iteration: bool = True, spill_limit: int | str | None = None,
        spill_folder: Path | None = None,
    ) -> Dataset:
        """The whole set in a random order, without a buffer, where elements have an index; with a
        window, the next is drawn at random from that many."""
        if isinstance(window, bool):  # which is an integer as well: a window of one shuffles nothing
            raise TypeError(
                f"[shuffle] window is {window}; shuffle() shuffles the whole set, and shuffle(1024) within a window of 1024"
            )
        return self._with(
            self._dataset.shuffle(
                window, bytes, seed, reshuffle_each_iteration, spill_limit, spill_folder
            )
        )

    def split(self, share: float, *, seed: int = 0) -> tuple[Dataset, Dataset]:
        """Two parts that have no element in common: train, validation = files.split(0.8)"""
        first, second = self._dataset.split(share, seed)
        return self._with(first), self._with(second)

    def repeat(self, count: int | None = None) -> Dataset:
        """Repeats the dataset `count` times, or without end if no count is given."""
        return self._with(self._dataset.repeat(count))

    def take(self, count: int) -> Dataset:
        """The first `count` elements."""
        return self._with(self._dataset.take(count))

    def skip(self, count: int) -> Dataset:
        """All but the first `count` elements."""
        return self._with(self._dataset.skip(count))

    def shard(self, shards: int, index: int) -> Dataset:
        """Elements whose position is `index` modulo `shards`."""
        return self._with(self._dataset.shard(shards, index))

    def enumerate(self, start: int = 0) -> Dataset:
        """Puts the element's position in front of the components."""
        return self._with(self._dataset.enumerate(start))

    def concatenate(self, other: Dataset) -> Dataset:
        """The elements of this dataset, then those of `other`. Where both have an index (files, arrays), so has the result: it can be shuffled and split as a whole."""
        if not isinstance(other, Dataset):
            raise TypeError(f"[concatenate] other is {shown(other)}; it must be a dataset")
        return self._with(self._dataset.concatenate(other._dataset), *other._kept)

    def cache(self, folder: Path | None = None, *, quota: int | str | None = None) -> Dataset:
        """Keeps the elements of the first epoch in memory, or in a folder on the disk, of which it
        takes at most `quota` bytes."""
        return self._with(self._dataset.cache(folder, quota))

    def prefetch(self, count: int | None = None) -> Dataset:
        """Makes up to `count` elements ahead of the consumer, as far as the budget allows."""
        return self._with(self._dataset.prefetch(count))

    def prefetch_to(self, device: Device | Session | str, count: int = 2) -> Dataset:
        """Makes up to `count` elements ahead of the consumer, with the numbers copied to `device`."""
        return self._with(self._dataset.prefetch_to(device, count))

    def ignore_errors(self, most: int = -1, *, rate: float = 0) -> Dataset:
        """Leaves out elements that fail: up to `most` in an epoch (-1: any number), and `rate` of
        those seen."""
        return self._with(self._dataset.ignore_errors(most, rate))

    def rebatch(self, size: int, *, drop_remainder: bool = False) -> Dataset:
        """The elements of batches in batches of another size."""
        return self._with(_stages.rebatch(self._dataset, size, drop_remainder))

    def take_while(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements before the first for which `predicate`, a Python function, is not true."""
        cell = Cell(as_function(predicate, "take_while"))
        return self._with(_stages.take_while(self._dataset, cell, name_of(predicate)), cell)

    def scan(self, state: Any, function: Callable[[Any, Any], tuple[Any, Any]]) -> Dataset:
        """Calls `function(state, element)` for the elements in order. It returns the new state, which
        consists of numbers, and the element of the result.

        >>> pm.data.range(4).scan(0, lambda total, i: (total + i, total + i))   # 0, 1, 3, 6
        """
        cell = Cell(as_function(function, "scan"))
        return self._with(_stages.scan(self._dataset, state, cell, name_of(function)), cell)

    def sample_weighted(
        self, weights: Sequence[float], *, count: int = -1, seed: int | None = None
    ) -> Dataset:
        """Elements of the whole set drawn with replacement, each with its weight, `count` of them in
        an epoch (-1: as many as there are). Needs elements with an index."""
        return self._with(_stages.sample_weighted(self._dataset, weights, count, seed))

    def balance_classes(self, *, count: int = -1, seed: int | None = None) -> Dataset:
        """Elements of an image_folder drawn so that every class is equally likely."""
        return self._with(_stages.balance_classes(self._dataset, count, seed))

    def bucket_by_sequence_length(
        self, length: Callable[..., int], boundaries: Sequence[int], sizes: Sequence[int], *,
        drop_remainder: bool = False, pad_to_boundary: bool = False,
    ) -> Dataset:
        """Collects elements of about the same length, and batches them as padded_batch does: bucket i
        has lengths below boundaries[i] and batches of sizes[i]; one more is for all longer ones.

        >>> texts.bucket_by_sequence_length(len, [32, 128], [64, 16, 4])
        """
        cell = Cell(as_function(length, "bucket_by_sequence_length"))
        made = _stages.bucket_by_sequence_length(
            self._dataset, cell, boundaries, sizes, drop_remainder, pad_to_boundary, name_of(length)
        )
        return self._with(made, cell)

    def group_by_window(
        self, key: Callable[..., int], reduce: Callable[[int, list[Any]], Dataset], window: int
    ) -> Dataset:
        """Collects elements with the same key; of each `window` of them `reduce(key, elements)` makes
        a dataset, whose elements go out."""
        cell = Cell(as_function(key, "group_by_window"))
        maker = Cell(as_function(reduce, "group_by_window"))
        made = _stages.group_by_window(self._dataset, cell, maker, window, name_of(reduce))
        return self._with(made, cell, maker)

    def save(self, folder: Path, *, device: Device | Session | str | None = None) -> int:
        """Runs one epoch and writes its elements to `folder`, for pm.data.load(); gives how many."""
        return _records.save(self, folder, device=device)

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(
            "[Dataset] elements come in order and have no index here; use next(iter(dataset)), "
            "dataset.skip(3).take(1), or loop over it"
        )

    def __add__(self, other: Any) -> Any:
        raise TypeError("[Dataset] datasets are not added; use first.concatenate(second)")

    # What it is.

    @property
    def classes(self) -> list[str]:
        """Names of the classes of an image_folder, in the order of their labels."""
        return self._dataset.classes

    @property
    def class_counts(self) -> list[int]:
        """How many files each of them has."""
        return self._dataset.class_counts

    @property
    def element_spec(self) -> list[tuple[Any, tuple[int | None, ...] | None]] | None:
        """(dtype, shape) of each component, as far as it is known without running; None if nothing
        is. Extents that differ are None."""
        return self._dataset.spec if self._dataset.spec_known else None

    @property
    def names(self) -> list[str]:
        """Names of the components; empty if they have none."""
        return self._dataset.names

    @property
    def cardinality(self) -> int | None:
        """Elements of one epoch; None where that is unknown or without end."""
        count = self._dataset.cardinality
        return None if count < 0 else count

    @property
    def signature(self) -> str:
        """One line per stage: the same for the same pipeline."""
        return self._dataset.signature

    def __len__(self) -> int:
        count = self._dataset.cardinality
        if count < 0:
            kind = "has no end" if count == -1 else "has a length that is only known after running it"
            raise TypeError(f"[len] this dataset {kind}; count its elements, or take(n)")
        return count

    def __bool__(self) -> bool:
        return True

    # Running it.

    def iterate(
        self, *, device: Device | Session | str | None = None, limit: int | str | None = None,
        threads: int = 0, seed: int = 0, skip_errors: int = 0, name: str = "pipeline",
    ) -> Pipeline:
        """A pipeline of your own, with its own limit below the device's, number of threads and seed."""
        return Pipeline(
            self, device=device, limit=limit, threads=threads, seed=seed, skip_errors=skip_errors,
            name=name,
        )

    def __iter__(self) -> Iterator[Any]:
        """Each time is another epoch of the same pipeline, so that shuffles differ and caches stay;
        while an iteration is under way, in another thread as well, a second one is independent."""
        with self._lock:
            before = self._iterator() if self._iterator is not None else None
            if before is not None and not before.ended:
                return Iteration(Pipeline(self))
            if self._running is None:
                self._running = Pipeline(Plain(self))
            elif not self._resumed and self._iterator is not None:
                self._running.rewind()
            self._resumed = False
            made = Iteration(self._running)
            self._iterator = weakref.ref(made)
            return made

    def state_dict(self) -> dict[str, bytes]:
        """The position of the current iteration; it can be pickled."""
        if self._running is None:
            self._running = Pipeline(Plain(self))
        return self._running.state_dict()

    def load_state_dict(self, state: Mapping[str, bytes]) -> None:
        """Lets the next iteration continue from a position of the same dataset."""
        if self._running is None:
            self._running = Pipeline(Plain(self))
        self._running.load_state_dict(state)
        self._resumed = True

    def to_numpy(self) -> Converted:
        """An iterable of the same elements with NumPy arrays that share their memory."""
        return Converted(self, by_component(lambda x: x.numpy() if isinstance(x, Tensor) else x), "to_numpy")

    def to_torch(self, device: Any = None) -> Converted:
        """An iterable of the same elements with PyTorch tensors. They share the memory; with
        `device="cuda:0"` the pipeline copies them there while the loop computes."""
        from ._torch import to_torch

        return to_torch(self, device)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "[pickle] a dataset cannot be pickled or copied: it may have functions and files in it. Make it in each "
            "process; its position can be pickled: dataset.state_dict()"
        )

    def __repr__(self) -> str:
        count = self._dataset.cardinality
        size = "endless" if count == -1 else "of unknown size" if count < 0 else f"{count:,} elements"
        return f"Dataset({size}, {self._dataset.spec_text})"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(repr(self))}\n{html.escape(self.signature)}</pre>"
