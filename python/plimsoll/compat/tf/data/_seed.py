"""Seeds of pipelines: tf.random.set_seed's, or another one in each process."""

from __future__ import annotations

import itertools
import os

_drawn = itertools.count()
_calls: object = None


def dataset_seed() -> int:
    """The seed of the next pipeline; tf.random.set_seed() begins their row again."""
    global _calls, _drawn
    from .. import _random

    if _calls is not _random._calls:
        _calls, _drawn = _random._calls, itertools.count()
    seed = _random._seed[0]
    if seed is None:
        return int.from_bytes(os.urandom(7), "little")
    return (seed * 1_000_003 + next(_drawn)) & ((1 << 62) - 1)


def op_seed(seed: int | None) -> int:
    """A fixed seed for what must not be drawn again in each epoch."""
    return dataset_seed() if seed is None else int(seed)
