"""tf.bitwise: of integers whose values are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _names
from ._operators import bits, bitwise_and, bitwise_invert, bitwise_or, bitwise_xor

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]

invert = bitwise_invert
left_shift = bits("left_shift", np.left_shift)
right_shift = bits("right_shift", np.right_shift)


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.bitwise.{name}", __all__)
