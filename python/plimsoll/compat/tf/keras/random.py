"""keras.random."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._random import draw_seed


class SeedGenerator:
    """Seeds one after the other."""

    def __init__(self, seed: int | None = None, **_: Any) -> None:
        self._generator = np.random.default_rng(draw_seed() if seed is None else seed)

    def next(self) -> int:
        return int(self._generator.integers(1 << 31))


def _seed(seed: Any) -> Any:
    return seed.next() if isinstance(seed, SeedGenerator) else seed


def normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    from .. import random

    return random.normal(shape, mean, stddev, dtype or "float32", seed=_seed(seed))


def uniform(shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    from .. import random

    return random.uniform(shape, minval, maxval, dtype or "float32", seed=_seed(seed))


def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    from .. import random

    return random.truncated_normal(shape, mean, stddev, dtype or "float32", seed=_seed(seed))


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
    from .layers._core_layers import _dropped

    return _dropped(inputs, float(rate), noise_shape)


def randint(shape: Any, minval: int, maxval: int, dtype: Any = "int32", seed: Any = None) -> Any:
    from .. import random

    return random.uniform(shape, minval, maxval, dtype, seed=_seed(seed))


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Any:
    from .. import random, transpose

    if axis == 0:
        return random.shuffle(x, seed=_seed(seed))
    order = list(range(len(x.shape)))
    order[0], order[axis] = order[axis], order[0]
    return transpose(random.shuffle(transpose(x, order), seed=_seed(seed)), order)


def categorical(logits: Any, num_samples: int, dtype: Any = "int32", seed: Any = None) -> Any:
    from .. import random

    return random.categorical(logits, num_samples, dtype, seed=_seed(seed))


def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Any = None) -> Any:
    from .. import random

    return random.gamma(shape, alpha, dtype=dtype or "float32", seed=_seed(seed))


__all__ = ["categorical", "gamma", "randint", "shuffle", "SeedGenerator", "dropout", "normal", "truncated_normal", "uniform"]


def __getattr__(name: str) -> Any:
    from .._names import missing

    missing(f"tf.keras.random.{name}", list(globals()))
