"""tf.random."""

from __future__ import annotations

from typing import Any

from . import _names
from ._random import (
    Generator, categorical, gamma, get_global_generator, normal, poisson, set_global_generator, set_seed,
    fold_in, log_uniform_candidate_sampler, shuffle, split, stateless_normal, stateless_uniform, truncated_normal,
    uniform, uniform_candidate_sampler,
)

__all__ = [
    "Generator", "categorical", "experimental", "fold_in", "gamma", "get_global_generator",
    "log_uniform_candidate_sampler", "normal", "poisson",
    "set_global_generator", "set_seed", "shuffle", "split", "stateless_normal",
    "stateless_uniform", "truncated_normal", "uniform", "uniform_candidate_sampler",
]


class experimental:
    Generator = Generator
    stateless_split = staticmethod(split)
    stateless_fold_in = staticmethod(fold_in)
    get_global_generator = staticmethod(get_global_generator)
    set_global_generator = staticmethod(set_global_generator)


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.random.{name}", __all__)
