"""Random numbers of the host: first values and shuffles, all from one seed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

_state: dict[str, Any] = {"generator": None}


def seed(value: int | None) -> None:
    """Starts all over from `value`; None: from the system's randomness."""
    _state["generator"] = np.random.default_rng(value)


def generator() -> np.random.Generator:
    found = _state["generator"]
    if found is None:
        found = _state["generator"] = np.random.default_rng(random.SystemRandom().getrandbits(64))
    made: np.random.Generator = found
    return made


def draw_seed() -> int:
    return int(generator().integers(1 << 62))
