"""What Plimsoll raises. Each class is also the builtin that fits it.

>>> try:
...     x = pm.zeros((1 << 20, 4096), device=device)
... except pm.OutOfMemory as refused:
...     refused.holders, refused.remedies, refused.requested, refused.budget
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._op_error import OpError

__all__ = [
    "Error",
    "InvalidArgument",
    "OutOfMemory",
    "BudgetTooSmall",
    "DataError",
    "StorageError",
    "DeviceError",
    "Diverged",
    "InternalError",
    "Holder",
    "Remedy",
]


class Error(Exception):
    """Base of everything Plimsoll raises. The message names the thing, the value and the remedy."""


class InvalidArgument(Error, ValueError):
    """Something was asked for that cannot be. Nothing was changed."""


class Holder(NamedTuple):
    """One line of the ledger: who holds memory, and how much."""

    budget: str
    tag: str
    label: str
    bytes: int
    blocks: int


class Remedy(NamedTuple):
    """Something that would help, and the bytes it would free (0 for a limit that can be raised)."""

    text: str
    bytes: int


class OutOfMemory(OpError, Error, MemoryError):
    """Memory was asked for that a budget or the system does not have. Nothing was taken or lost:
    after memory is freed the same call succeeds. tf.errors.ResourceExhaustedError is this class, so it is
    also made of (node_def, op, message)."""

    error_code = 8  # RESOURCE_EXHAUSTED
    holders: list[Holder]
    """Who holds memory in the budget that refused, largest first."""
    remedies: list[Remedy]
    requested: int
    """In bytes."""
    tag: str
    label: str
    """Who asked."""
    budget: str
    """The budget that refused, "cpu:0/training"; empty if the system did."""
    limit: int
    used: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.holders = []
        self.remedies = []
        self.requested = 0
        self.tag = ""
        self.label = ""
        self.budget = ""
        self.limit = 0
        self.used = 0


class BudgetTooSmall(Error, MemoryError):
    """The work cannot be done within the stated budget; the message names one that would do."""

    smallest_budget: int | None
    """A limit that works, in bytes; None where the message names other remedies."""
    largest_batch: int | None
    """A batch that fits in the budget, 0 if none does; None where there is no batch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.smallest_budget = None
        self.largest_batch = None


class DataError(Error, ValueError):
    """Input data is broken: a file, a record, an element. The message names it."""


class StorageError(Error, OSError):
    """The system could not store a file: the disk is full, or it failed."""


class DeviceError(Error, RuntimeError):
    """A device, its driver or one of its libraries failed."""


class Diverged(Error, ArithmeticError):
    """The loss of a step was NaN or infinite."""


class InternalError(Error, RuntimeError):
    """A promise of Plimsoll itself does not hold: a bug, worth a report."""
