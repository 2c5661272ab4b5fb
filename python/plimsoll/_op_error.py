"""The base of tf.errors. It is here, and not in compat.tf, because OutOfMemory is one of them."""

from __future__ import annotations

from typing import Any


class OpError(Exception):
    """Base of what ops raise: (node, op, message), as TensorFlow makes them, or the message alone."""

    error_code = 2  # UNKNOWN

    def __init__(self, node_def: Any = None, op: Any = None, message: str | None = None, *_: Any) -> None:
        if message is None:
            node_def, message = None, str(node_def)
        super().__init__(message)
        self.node_def, self.op, self.message = node_def, op, message

    def __str__(self) -> str:
        return self.message
