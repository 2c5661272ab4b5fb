"""What pickles of tensors call: a function of Python's, which has a name that pickle can write."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Tensor


def rebuild_tensor(contents: Any, dtype: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor on the default device from the bytes, or the byte strings, of one."""
    return _core._rebuild_tensor(contents, dtype, shape)
