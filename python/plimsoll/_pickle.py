"""What pickles of tensors call: a function of Python's, which has a name that pickle can write."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Tensor
from ._traceback import worded


def rebuild_tensor(contents: Any, dtype: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor on the default device from the bytes, or the byte strings, of one."""
    return _core._rebuild_tensor(contents, dtype, shape)


def refuse(kind: type, what: str, instead: str) -> None:
    """Gives a class that cannot be pickled, nor copied with the copy module, the words for it."""

    @worded
    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        raise TypeError(f"[pickle] {what} cannot be pickled or copied; {instead}")

    setattr(kind, "__reduce_ex__", __reduce_ex__)


refuse(
    _core.Module, "a module",
    "make another one, build() it, and load the weights into it: other.load_state_dict(net.state_dict())",
)
refuse(_core.Optimizer, "an optimizer", "pm.train.save_checkpoint(path, net, optimizer) writes its state to a file")
refuse(_core.Schedule, "a schedule", "make it again from its numbers")
refuse(_core.History, "a history", "its lists can be: history.epochs, history.losses")
