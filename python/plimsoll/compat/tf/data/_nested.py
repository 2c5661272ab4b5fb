"""Datasets made for each element: flat_map, interleave, windows, groups."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterator

import numpy as np

import plimsoll as pm
from plimsoll import _core
from plimsoll._cell import Cell

from .. import _nest
from .._convert import convert_to_tensor
from .._dtypes import int64
from .._errors import unsupported
from .._program import fingerprint, quiet
from .._shape import TensorShape
from . import _map, _structure
from ._dataset import AUTOTUNE, Dataset, number
from ._sources import declared, from_tensor_slices
from ._structure import Leaf


class _Opened:
    """A function that gives a dataset for each element, as the library calls it."""

    def __init__(self, dataset: Dataset, function: Callable[..., Any], who: str) -> None:
        self.structure, self.function, self.who = dataset._structure, function, who

    def open(self, element: Any) -> Dataset:
        with quiet():
            made = self.function(*_map.arguments(self.structure, element))
        if not isinstance(made, Dataset):
            raise TypeError(f"The `map_func` argument must return a `Dataset` object. Got {made!r}")
        return made

    def __call__(self, *components: Any) -> Any:
        element = _structure.rebuilt(self.structure, components if len(components) > 1 else components[0])
        made = self.open(element)
        return pm.data.Dataset(made._dataset, made._kept)


def _sampled(dataset: Dataset, opened: _Opened) -> Dataset:
    """The dataset of the first element: what all of them give is known by it."""
    for element in dataset.take(1):
        return opened.open(element)
    raise ValueError(f"[{opened.who}] the dataset is empty, so that nothing is known of what the function gives")


def _spec_of(inner: Dataset) -> list[tuple[Any, Any]]:
    return inner._specs() if not inner._any_batch else [
        (dtype, None if dims is None else (None, *dims[1:])) for dtype, dims in inner._specs()
    ]


def _finish(dataset: Dataset, made: Any, cell: Cell, opened: _Opened, inner: Dataset) -> Dataset:
    flat = dataset._pm._with(made, cell, opened)
    return Dataset(declared(flat, _spec_of(inner)), inner._structure, options=dataset._options)


def flat_map(dataset: Dataset, function: Callable[..., Any]) -> Dataset:
    if isinstance(dataset, WindowDataset):
        return dataset.flat(function)
    opened = _Opened(dataset, function, "flat_map")
    inner = _sampled(dataset, opened)
    cell = Cell(opened)
    made = _core._flat_map_python(dataset._dataset, cell, fingerprint(function))
    return _finish(dataset, made, cell, opened, inner)


def interleave(
    dataset: Dataset, function: Callable[..., Any], cycle_length: Any, block_length: Any, num_parallel_calls: Any
) -> Dataset:
    cores = len(os.sched_getaffinity(0))
    cycle = cores if cycle_length is None else number(cycle_length, "cycle_length")
    if cycle == AUTOTUNE:
        cycle = cores
    block = 1 if block_length is None else number(block_length, "block_length")
    if cycle < 1 or block < 1:
        raise ValueError(f"cycle_length and block_length must be at least 1, not {cycle} and {block}")
    calls = 1 if num_parallel_calls is None else number(num_parallel_calls, "num_parallel_calls")
    opened = _Opened(dataset, function, "interleave")
    inner = _sampled(dataset, opened)
    cell = Cell(opened)
    made = _core._interleave_python(
        dataset._dataset, cell, cycle, block, calls if calls == AUTOTUNE else min(calls, cycle), fingerprint(function)
    )
    return _finish(dataset, made, cell, opened, inner)


# -- windows ---------------------------------------------------------------------------------------


def window(dataset: Dataset, size: Any, shift: Any, stride: Any, drop_remainder: Any) -> WindowDataset:
    count, step = number(size, "size"), number(stride, "stride")
    by = None if shift is None else number(shift, "shift")
    if count < 1 or step < 1 or (by is not None and by < 1):
        raise ValueError(f"size, shift and stride must be at least 1, not {count}, {by} and {step}")
    made = dataset._pm.window(count, shift=by, stride=step, drop_remainder=bool(drop_remainder))
    return WindowDataset(made, dataset._structure, count, bool(drop_remainder))


class WindowDataset(Dataset):
    """Windows of a dataset. Each is a dataset, or a structure of such; the library has it as a batch."""

    def __init__(self, made: pm.data.Dataset, structure: Any, size: int, dropped: bool) -> None:
        super().__init__(made, structure, any_batch=not dropped)
        self._size = size

    def _windows(self, element: Any) -> Any:
        return _nest.map_structure(from_tensor_slices, element)

    def __iter__(self) -> Iterator[Any]:
        return (self._windows(element) for element in Dataset.__iter__(self))

    def _with(self, dataset: pm.data.Dataset, structure: Any = None, **given: Any) -> Dataset:
        if structure is not None or given.get("same") is False:
            unsupported("this method on the datasets of window()", way="use flat_map(lambda w: w.batch(n)) first")
        made = WindowDataset(dataset, self._structure, self._size, not self._any_batch)
        return made

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None, *args: Any, **kwargs: Any) -> Dataset:
        """Only functions that give tensors of a window, such as w.reduce, can be mapped: per window."""
        return self.flat(lambda *w: Dataset.from_tensors(map_func(*w)))

    def flat(self, function: Callable[..., Any]) -> Dataset:
        """flat_map; w.batch(n) with n of at least the window's size is the library's own window."""
        whole = self._whole(function)
        if whole is not None:
            return whole
        opened = _Opened(self, lambda *parts: function(*self._arguments(parts)), "flat_map")
        first = next(Dataset.__iter__(self.take(1)), None)
        if first is None:
            raise ValueError("[flat_map] the dataset is empty, so that nothing is known of what the function gives")
        inner = opened.open(first)
        cell = Cell(opened)
        made = _core._flat_map_python(self._dataset, cell, fingerprint(function))
        return _finish(self, made, cell, opened, inner)

    def _arguments(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self._windows(each) for each in parts)

    def _whole(self, function: Callable[..., Any]) -> Dataset | None:
        asked = _Whole(self._size)
        marks = _nest.map_structure(lambda leaf: _Window(asked), self._structure)
        try:
            given = function(*_map.arguments(self._structure, marks))
        except Exception:  # it wants more than a batch: run it for each window
            return None
        flat, marked = _nest.flatten(given), _nest.flatten(marks)
        if len(flat) != len(marked) or any(a is not b for a, b in zip(flat, marked)) or not asked.batched:
            return None
        made = self._pm
        if asked.dropped and self._any_batch:
            made = made.filter(_map.named(lambda *c: len(c[0]) == self._size, function))
        structure = _nest.pack_sequence_as(given, _structure.leaves(self._structure))
        return Dataset(made, structure, any_batch=self._any_batch and not asked.dropped)


class _Whole:
    def __init__(self, size: int) -> None:
        self.size, self.batched, self.dropped = size, False, False


class _Window(Dataset):
    """Stands for a window while a function is asked whether it only batches it."""

    def __init__(self, asked: _Whole) -> None:
        self._asked = asked

    def batch(self, batch_size: Any, drop_remainder: Any = False, *args: Any, **kwargs: Any) -> Any:
        if number(batch_size, "batch_size") < self._asked.size:
            raise NotImplementedError
        if drop_remainder and number(batch_size, "batch_size") > self._asked.size:
            raise NotImplementedError
        self._asked.batched = True
        self._asked.dropped = self._asked.dropped or bool(drop_remainder)
        return self


# -- groups ----------------------------------------------------------------------------------------


def group_by_window(
    dataset: Dataset, key_func: Callable[..., Any], reduce_func: Callable[..., Any], window_size: Any,
    window_size_func: Any,
) -> Dataset:
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Either the `window_size` argument or the `window_size_func` argument must be specified.")
    if window_size_func is not None:
        unsupported("tf.data.Dataset.group_by_window", "window_size_func", "give window_size")
    structure = dataset._structure

    def key(*components: Any) -> int:
        element = _structure.rebuilt(structure, components if len(components) > 1 else components[0])
        with quiet():
            return int(key_func(*_map.arguments(structure, element)))

    def reduced(of: int, elements: Any) -> Dataset:
        with quiet():
            made = reduce_func(convert_to_tensor(of, int64), Dataset(pm.data.Dataset(elements), structure))
        if not isinstance(made, Dataset):
            raise TypeError(f"`reduce_func` must return a `Dataset`. Got {made!r}")
        return made

    def reduce(of: int, elements: Any) -> Any:
        made = reduced(of, elements)
        return pm.data.Dataset(made._dataset, made._kept)

    inner = reduced(0, dataset._pm.take(1)._dataset)
    cells = (Cell(key), Cell(reduce))
    made = _core._group_by_window(
        dataset._dataset, *cells, number(window_size, "window_size"), fingerprint(reduce_func)
    )
    flat = dataset._pm._with(made, *cells)
    # The batch of one element says the rank and not how long the rows of another are.
    specs = [
        (dtype, None if dims is None else tuple(None if i == 0 else d for i, d in enumerate(dims)))
        for dtype, dims in inner._specs()
    ] if inner._any_batch else inner._specs()
    return Dataset(declared(flat, specs), inner._structure, options=dataset._options, any_batch=inner._any_batch)


def bucket(
    dataset: Dataset, length_func: Callable[..., Any], boundaries: Any, sizes: Any, padded_shapes: Any,
    padding_values: Any, to_boundary: bool, no_padding: bool, drop_remainder: bool,
) -> Dataset:
    limits, batches = [number(b, "bucket_boundaries") for b in boundaries], [number(b, "sizes") for b in sizes]
    if len(batches) != len(limits) + 1:
        raise ValueError("The length of bucket_batch_sizes must be equal to len(bucket_boundaries) + 1.")
    if no_padding:
        unsupported("tf.data.Dataset.bucket_by_sequence_length", "no_padding=True", "leave it out")
    structure = dataset._structure
    if padded_shapes is not None or padding_values is not None:
        return _padded_bucket(dataset, length_func, limits, batches, padded_shapes, padding_values, to_boundary, drop_remainder)

    def length(*components: Any) -> int:
        element = _structure.rebuilt(structure, components if len(components) > 1 else components[0])
        with quiet():
            return int(length_func(*_map.arguments(structure, element)))

    cell = Cell(length)
    made = _core._stages.bucket_by_sequence_length(
        dataset._dataset, cell, limits, batches, drop_remainder, to_boundary, fingerprint(length_func)
    )
    flat = dataset._pm._with(made, cell)
    specs = [(dtype, None if dims is None else (None, *dims)) for dtype, dims in dataset._specs()]
    return Dataset(declared(flat, specs), structure, options=dataset._options, any_batch=True)


def _padded_bucket(
    dataset: Dataset, length_func: Callable[..., Any], limits: list[int], batches: list[int], padded_shapes: Any,
    padding_values: Any, to_boundary: bool, drop_remainder: bool,
) -> Dataset:
    """With shapes or values to pad with: as tf.data puts it together, of group_by_window."""
    if to_boundary:
        unsupported(
            "tf.data.Dataset.bucket_by_sequence_length", "pad_to_bucket_boundary with padded_shapes or padding_values",
            "leave one of them out",
        )
    if len(set(batches)) != 1:
        unsupported(
            "tf.data.Dataset.bucket_by_sequence_length", "padding_values with batches of different sizes",
            "use one size, or pad with zeros",
        )

    def key(*element: Any) -> Any:
        return int(np.searchsorted(limits, int(length_func(*element)), side="right"))

    def padded(_: Any, elements: Dataset) -> Dataset:
        return elements.padded_batch(batches[0], padded_shapes, padding_values, drop_remainder)

    return group_by_window(dataset, key, padded, batches[0], None)


# -- state -----------------------------------------------------------------------------------------


def _generated(dataset: Dataset, make: Callable[[], Iterator[Any]], structure: Any, specs: Any, name: str) -> Dataset:
    def flat() -> Iterator[Any]:
        for element in make():
            yield tuple(_structure.component(each) for each in _structure.flatten(element))

    flat.__module__, flat.__qualname__ = "", name
    made = pm.data.from_generator(flat, spec=specs)
    return Dataset(made, structure, options=dataset._options)


def scan(dataset: Dataset, initial_state: Any, scan_func: Callable[..., Any]) -> Dataset:
    def run() -> Iterator[Any]:
        current = _structure.normalized(initial_state)
        for element in Dataset._with(dataset, dataset._pm):
            with quiet():
                current, out = scan_func(current, element)
                yield _structure.normalized(out)

    first = next(run(), None)
    if first is None:
        raise ValueError("[scan] the dataset is empty, so that nothing is known of what the function gives")
    made = _structure.structure_of(first)
    specs = [(leaf.dtype.pm, tuple(TensorShape(each.shape).as_list()))
             for leaf, each in zip(_structure.leaves(made), _structure.flatten(first))]
    return _generated(dataset, run, made, specs, fingerprint(scan_func))


def unique(dataset: Dataset) -> Dataset:
    if not isinstance(dataset._structure, Leaf) or dataset._structure.dtype.name not in ("int32", "int64", "string"):
        raise TypeError(
            "`tf.data.Dataset.unique` only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` component."
        )

    def run() -> Iterator[Any]:
        seen = set()
        for element in Dataset._with(dataset, dataset._pm):
            value = element.numpy()
            key = value if np.ndim(value) == 0 else (np.shape(value), np.asarray(value).tobytes())
            if key not in seen:
                seen.add(key)
                yield element

    return _generated(dataset, run, dataset._structure, dataset._specs(), "unique")
