"""The static methods of tf.data.Dataset that make one; what they do is in _sources.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from .._dtypes import int64

if TYPE_CHECKING:
    from ._dataset import Dataset


class HasSources:
    """Dataset.from_tensor_slices, Dataset.range and the like."""

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Slices along the first dimension of all tensors in a structure."""
        from . import _sources

        return _sources.from_tensor_slices(tensors)

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element: the tensors themselves."""
        from . import _sources

        return _sources.from_tensors(tensors)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any = None, output_shapes: Any = None, args: Any = None,
        output_signature: Any = None, name: str | None = None,
    ) -> Dataset:
        """Elements of a Python iterable that `generator(*args)` gives for each epoch."""
        from . import _sources

        return _sources.from_generator(generator, output_types, output_shapes, args, output_signature)

    @staticmethod
    def range(*args: Any, output_type: Any = int64, name: str | None = None) -> Dataset:
        """range(stop), range(start, stop), range(start, stop, step)."""
        from . import _sources

        return _sources.numbers(*args, output_type=output_type)

    @staticmethod
    def random(
        seed: Any = None, rerandomize_each_iteration: Any = None, name: str | None = None
    ) -> Dataset:
        """Random int64 numbers without end."""
        from . import _sources

        return _sources.random_numbers(seed, rerandomize_each_iteration)

    @staticmethod
    def list_files(file_pattern: Any, shuffle: Any = None, seed: Any = None, name: str | None = None) -> Dataset:
        """Paths that match patterns; in a random order unless shuffle=False."""
        from . import _sources

        return _sources.list_files(file_pattern, shuffle, seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Elements of several side by side."""
        from . import _sources

        return _sources.zipped(*args, datasets=datasets)

    @staticmethod
    def sample_from_datasets(
        datasets: Any, weights: Any = None, seed: Any = None, stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: Any = None,
    ) -> Dataset:
        """Elements of several in a random order."""
        from . import _sources

        return _sources.sample(datasets, weights, seed, stop_on_empty_dataset)

    @staticmethod
    def choose_from_datasets(datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = True) -> Dataset:
        """The next element of the dataset whose number another one gives."""
        from . import _sources

        return _sources.choose(datasets, choice_dataset, stop_on_empty_dataset)

    @staticmethod
    def load(path: Any, element_spec: Any = None, compression: Any = None, reader_func: Any = None, wait: bool = False) -> Dataset:
        """What save() wrote there."""
        from . import _sources

        return _sources.load(path, element_spec, compression, reader_func, wait)

    @staticmethod
    def counter(start: Any = 0, step: Any = 1, dtype: Any = int64, name: str | None = None) -> Dataset:
        """Numbers from `start` on, without end."""
        from .._math import cast
        from .experimental import Counter

        made = Counter(start, step)
        return made if dtype is int64 else made.map(lambda each: cast(each, dtype))
