"""Random numbers of the host: first values and shuffles, from tf.random.set_seed's seed."""

from __future__ import annotations

import numpy as np

from .._random import host_generator


def generator() -> np.random.Generator:
    return host_generator()


def draw_seed() -> int:
    return int(generator().integers(1 << 62))
