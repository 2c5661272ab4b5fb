"""tf.random."""

from __future__ import annotations

from typing import Any

from . import _names
from ._random import (
    Generator, categorical, gamma, get_global_generator, normal, poisson, set_global_generator, set_seed,
    shuffle, stateless_normal, stateless_uniform, truncated_normal, uniform,
)

__all__ = [
    "Generator", "categorical", "experimental", "gamma", "get_global_generator", "normal", "poisson",
    "set_global_generator", "set_seed", "shuffle", "stateless_normal", "stateless_uniform",
    "truncated_normal", "uniform",
]


class experimental:
    Generator = Generator
    get_global_generator = staticmethod(get_global_generator)
    set_global_generator = staticmethod(set_global_generator)


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.random.{name}", __all__)
