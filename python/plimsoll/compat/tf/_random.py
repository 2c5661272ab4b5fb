"""Random numbers and initializers that draw them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _dtypes
from ._convert import convert_to_tensor, numpy_of, tensor
from ._dispatch import ints, op, static_value
from ._dtypes import as_dtype
from ._errors import InvalidArgumentError, unsupported

_seed: list[int | None] = [None]
_calls = itertools.count()


def set_seed(seed: int) -> None:
    """The seed of everything that is drawn from now on."""
    global _calls
    _seed[0] = int(seed)
    _calls = itertools.count()
    pm.set_seed(int(seed) & ((1 << 63) - 1))


def host_generator() -> np.random.Generator:
    """A NumPy generator for what the host draws, from tf.random.set_seed's seed."""
    if _seed[0] is None:
        return np.random.default_rng()
    return np.random.default_rng((abs(_seed[0]), next(_calls)))


def _floating(dtype: Any, who: str) -> Any:
    want = as_dtype(dtype)
    if not want.is_floating:
        raise InvalidArgumentError(None, None, f"{who} draws floating numbers, not {want.name}")
    return want


def _scaled(unit: Any, low: Any, span: Any, want: Any) -> Any:
    made = unit * (span if isinstance(span, (int, float)) else tensor(span, like=unit))
    return made + (low if isinstance(low, (int, float)) else tensor(low, like=made))


@op(name="random.normal", fold=False)
def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = _dtypes.float32, seed: Any = None) -> Any:
    want, dims = _floating(dtype, "tf.random.normal"), ints(shape)
    if isinstance(mean, (int, float)) and isinstance(stddev, (int, float)) and stddev >= 0:
        return pm.random_normal(dims, mean, stddev, dtype=want.pm)
    return _scaled(pm.random_normal(dims, dtype=want.pm), mean, stddev, want)


@op(name="random.uniform", fold=False)
def uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = _dtypes.float32, seed: Any = None) -> Any:
    want, dims = as_dtype(dtype), ints(shape)
    if want.is_floating:
        high = 1.0 if maxval is None else maxval
        if isinstance(minval, (int, float)) and isinstance(high, (int, float)) and minval <= high:
            return pm.random_uniform(dims, minval, high, dtype=want.pm)
        low = tensor(minval, want) if not isinstance(minval, (int, float)) else minval
        top = tensor(high, want) if not isinstance(high, (int, float)) else high
        return _scaled(pm.random_uniform(dims, dtype=want.pm), low, top - low, want)
    if maxval is None:
        raise ValueError(f"Must specify maxval for integer dtype {want!r}")
    if want not in (_dtypes.int32, _dtypes.int64):
        raise InvalidArgumentError(None, None, f"tf.random.uniform draws float and int32, int64, not {want.name}")
    low, high = static_value(minval), static_value(maxval)
    if not isinstance(low, int) or not isinstance(high, int):
        unsupported("tf.random.uniform of integers", "minval or maxval with dimensions")
    if low >= high:
        raise InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}")
    # Two draws of 24 bits are one of 48.
    a, b = (pm.random_uniform(dims, dtype=pm.f64) for _ in range(2))
    unit = a + b * 2.0**-24
    drawn = pm.floor(pm.minimum(unit, 1 - 2.0**-48) * float(high - low))
    return pm.cast(pm.minimum(drawn, float(high - low - 1)) + float(low), want.pm)


@op(name="random.truncated_normal", fold=False)
def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = _dtypes.float32, seed: Any = None) -> Any:
    from ._special import _erfinv

    want, dims = _floating(dtype, "tf.random.truncated_normal"), ints(shape)
    inside = math.erf(2 / math.sqrt(2))
    unit = pm.random_uniform(dims, -inside, inside, dtype=pm.f64)
    drawn = pm.cast(_erfinv(unit) * math.sqrt(2), want.pm)
    return _scaled(drawn, mean, stddev, want)


@op(name="random.gamma", fold=False)
def gamma(shape: Any, alpha: Any, beta: Any = None, dtype: Any = _dtypes.float32, seed: Any = None) -> Any:
    given = numpy_of(tensor(alpha)).astype(np.float64)
    drawn = host_generator().gamma(given, size=[*ints(shape), *given.shape])
    rate = 1.0 if beta is None else numpy_of(tensor(beta))
    return pm.tensor((drawn / rate).astype(as_dtype(dtype).as_numpy_dtype))


@op(name="random.poisson", fold=False)
def poisson(shape: Any, lam: Any, dtype: Any = _dtypes.float32, seed: Any = None) -> Any:
    given = numpy_of(tensor(lam)).astype(np.float64)
    drawn = host_generator().poisson(given, size=[*ints(shape), *given.shape])
    return pm.tensor(np.asarray(drawn).astype(as_dtype(dtype).as_numpy_dtype))


@op(name="random.shuffle", fold=False, host=lambda value, seed=None: value[host_generator().permutation(len(value))])
def shuffle(value: Any, seed: Any = None) -> Any:
    x = tensor(value)
    if not x.ndim or x.shape[0] < 2:
        return x
    keys = pm.random_uniform((x.shape[0],), dtype=pm.f32)
    _, order = pm.top_k(keys, x.shape[0])
    return pm.gather(x, order, axis=0)


@op(name="random.categorical", fold=False)
def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None) -> Any:
    scores, count = tensor(logits), int(static_value(num_samples))
    if scores.ndim != 2:
        raise InvalidArgumentError(None, None, f"logits should be a matrix, got shape {list(scores.shape)}")
    # Gumbel's trick: the largest of logits plus noise is drawn with the logits' odds.
    batch, classes = scores.shape
    noise = -pm.log(-pm.log(pm.random_uniform((batch, count, classes), 2.0**-24, 1 - 2.0**-24, dtype=pm.f32)))
    wide = pm.reshape(pm.cast(scores, pm.f32), [batch, 1, classes])
    return pm.cast(pm.argmax(wide + noise, -1), as_dtype(dtype or _dtypes.int64).pm)


def _stateless(seed: Any) -> np.random.Generator:
    return np.random.default_rng([abs(int(each)) for each in np.asarray(numpy_of(tensor(seed))).reshape(-1)])


@op(name="random.stateless_normal")
def stateless_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = _dtypes.float32, alg: Any = "auto_select") -> Any:
    drawn = _stateless(seed).normal(size=ints(shape)) * static_value(stddev) + static_value(mean)
    return pm.tensor(np.asarray(drawn, dtype=np.float32)).to(as_dtype(dtype).pm)


@op(name="random.stateless_uniform")
def stateless_uniform(shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = _dtypes.float32, alg: Any = "auto_select") -> Any:
    want, source = as_dtype(dtype), _stateless(seed)
    if want.is_integer:
        return pm.tensor(source.integers(static_value(minval), static_value(maxval), size=ints(shape))).to(want.pm)
    low, high = static_value(minval), 1.0 if maxval is None else static_value(maxval)
    return pm.tensor(np.asarray(source.uniform(low, high, size=ints(shape)), dtype=np.float32)).to(want.pm)


class Generator:
    """Draws from a state of its own.

    >>> tf.random.Generator.from_seed(1).normal([2, 3])
    """

    def __init__(self, seed: Any) -> None:
        self._source = np.random.default_rng(seed)

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        return cls(int(seed))

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        return cls(None)

    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Generator:
        return cls([abs(int(each)) for each in np.asarray(state).reshape(-1)])

    def _need_host(self) -> np.random.Generator:
        if _core._tracing():
            unsupported("tf.random.Generator in a function that is traced", way="tf.random.normal and its like")
        return self._source

    def normal(self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = _dtypes.float32, name: Any = None) -> Any:
        return _wrapped(self._need_host().normal(float(mean), float(stddev), size=_shape(shape)), dtype)

    def truncated_normal(self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = _dtypes.float32, name: Any = None) -> Any:
        drawn = self._need_host().normal(size=_shape(shape))
        while (np.abs(drawn) > 2).any():
            again = np.abs(drawn) > 2
            drawn[again] = self._source.normal(size=int(again.sum()))
        return _wrapped(drawn * float(stddev) + float(mean), dtype)

    def uniform(self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = _dtypes.float32, name: Any = None) -> Any:
        source = self._need_host()
        if as_dtype(dtype).is_integer:
            return _wrapped(source.integers(int(minval), int(maxval), size=_shape(shape)), dtype)
        return _wrapped(source.uniform(float(minval), 1.0 if maxval is None else float(maxval), size=_shape(shape)), dtype)

    def binomial(self, shape: Any, counts: Any, probs: Any, dtype: Any = _dtypes.int32, name: Any = None) -> Any:
        return _wrapped(self._need_host().binomial(np.asarray(counts), np.asarray(probs), size=_shape(shape)), dtype)

    def uniform_full_int(self, shape: Any, dtype: Any = _dtypes.uint64, name: Any = None) -> Any:
        want = as_dtype(dtype)
        return _wrapped(self._need_host().integers(want.min, want.max, size=_shape(shape), dtype=want.as_numpy_dtype, endpoint=True), dtype)

    def make_seeds(self, count: int = 1) -> Any:
        return _wrapped(self._need_host().integers(0, 1 << 62, size=(2, count)), _dtypes.int64)

    def split(self, count: int = 1) -> list[Generator]:
        return [Generator(int(each)) for each in self._need_host().integers(0, 1 << 62, size=count)]

    def reset_from_seed(self, seed: int) -> None:
        self._source = np.random.default_rng(int(seed))


def _shape(shape: Any) -> list[int]:
    from ._tensor import Tensor

    return ints(shape._value if isinstance(shape, Tensor) else shape)


def _wrapped(array: Any, dtype: Any) -> Any:
    from ._convert import convert_to_tensor

    return convert_to_tensor(np.asarray(array).astype(as_dtype(dtype).as_numpy_dtype))


_global: list[Generator | None] = [None]


def get_global_generator() -> Generator:
    found = _global[0]
    if found is None:
        found = _global[0] = Generator(_seed[0])
    return found


def set_global_generator(generator: Generator) -> None:
    _global[0] = generator


class _Initializer:
    """A function of a shape that gives first values: tf.initializers in their old spelling."""

    def __call__(self, shape: Any, dtype: Any = _dtypes.float32, partition_info: Any = None, **_: Any) -> Any:
        raise NotImplementedError


class zeros_initializer(_Initializer):
    def __init__(self, dtype: Any = None) -> None:
        pass

    def __call__(self, shape: Any, dtype: Any = _dtypes.float32, partition_info: Any = None, **_: Any) -> Any:
        from ._create import zeros

        return zeros(shape, dtype)


class ones_initializer(_Initializer):
    def __init__(self, dtype: Any = None) -> None:
        pass

    def __call__(self, shape: Any, dtype: Any = _dtypes.float32, partition_info: Any = None, **_: Any) -> Any:
        from ._create import ones

        return ones(shape, dtype)


class constant_initializer(_Initializer):
    def __init__(self, value: Any = 0, dtype: Any = None, verify_shape: bool = False, support_partition: bool = False) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = _dtypes.float32, partition_info: Any = None, **_: Any) -> Any:
        from ._convert import constant

        return constant(self.value, dtype, shape)


class random_normal_initializer(_Initializer):
    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: Any = None, dtype: Any = None) -> None:
        self.mean, self.stddev = mean, stddev

    def __call__(self, shape: Any, dtype: Any = _dtypes.float32, partition_info: Any = None, **_: Any) -> Any:
        return normal(shape, self.mean, self.stddev, dtype)


class truncated_normal_initializer(random_normal_initializer):
    def __call__(self, shape: Any, dtype: Any = _dtypes.float32, partition_info: Any = None, **_: Any) -> Any:
        return truncated_normal(shape, self.mean, self.stddev, dtype)


class random_uniform_initializer(_Initializer):
    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: Any = None, dtype: Any = None) -> None:
        self.minval, self.maxval = minval, maxval

    def __call__(self, shape: Any, dtype: Any = _dtypes.float32, partition_info: Any = None, **_: Any) -> Any:
        return uniform(shape, self.minval, self.maxval, dtype)


class glorot_uniform_initializer(_Initializer):
    def __init__(self, seed: Any = None, dtype: Any = None) -> None:
        pass

    def _fans(self, shape: Any) -> tuple[float, float]:
        dims = _shape(shape)
        if len(dims) < 2:
            return (float(dims[0]), float(dims[0])) if dims else (1.0, 1.0)
        field = math.prod(dims[:-2])
        return float(dims[-2] * field), float(dims[-1] * field)

    def __call__(self, shape: Any, dtype: Any = _dtypes.float32, partition_info: Any = None, **_: Any) -> Any:
        limit = math.sqrt(6 / sum(self._fans(shape)))
        return uniform(shape, -limit, limit, dtype)


class glorot_normal_initializer(glorot_uniform_initializer):
    def __call__(self, shape: Any, dtype: Any = _dtypes.float32, partition_info: Any = None, **_: Any) -> Any:
        deviation = math.sqrt(2 / sum(self._fans(shape))) / 0.87962566103423978
        return truncated_normal(shape, 0.0, deviation, dtype)


def split(seed: Any, num: int = 2, alg: Any = "auto_select") -> Any:
    """Seeds of shape [num, 2] out of one of shape [2], the same for the same seed."""
    given = numpy_of(convert_to_tensor(seed)._value)
    drawn = np.random.default_rng([int(each) & 0xFFFFFFFF for each in given]).integers(0, 1 << 31, (int(num), 2))
    return convert_to_tensor(drawn.astype(given.dtype))


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Any:
    """A seed out of a seed and a number."""
    given = numpy_of(convert_to_tensor(seed)._value)
    more = [*(int(each) & 0xFFFFFFFF for each in given), int(data) & 0xFFFFFFFF]
    return convert_to_tensor(np.random.default_rng(more).integers(0, 1 << 31, 2).astype(given.dtype))


def _candidates(true_classes: Any, num_sampled: int, unique: bool, odds: Any) -> Any:
    """Classes drawn by their odds, and how often each is expected among those drawn."""
    true = numpy_of(convert_to_tensor(true_classes)._value)
    drawn = host_generator().choice(len(odds), int(num_sampled), replace=not unique, p=odds).astype(np.int64)

    def expected(classes: Any) -> Any:
        chance = odds[classes]
        return (-np.expm1(num_sampled * np.log1p(-chance)) if unique else num_sampled * chance).astype(np.float32)

    return tuple(convert_to_tensor(each) for each in (drawn, expected(true), expected(drawn)))


def log_uniform_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Any = None,
    name: str | None = None,
) -> Any:
    """Draws classes by Zipf's law: (candidates, expected count of the true ones, of the candidates)."""
    at = np.arange(range_max)
    odds = (np.log(at + 2) - np.log(at + 1)) / np.log(range_max + 1)
    return _candidates(true_classes, num_sampled, unique, odds / odds.sum())


def uniform_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Any = None,
    name: str | None = None,
) -> Any:
    return _candidates(true_classes, num_sampled, unique, np.full(range_max, 1.0 / range_max))
