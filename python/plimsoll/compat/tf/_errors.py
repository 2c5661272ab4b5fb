"""tf.errors, and how what is not here is refused."""

from __future__ import annotations

from typing import Any, NoReturn

import plimsoll as pm
from plimsoll._op_error import OpError as OpError

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND = range(6)
ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED = range(6, 11)
OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = range(11, 17)


class InvalidArgumentError(OpError, pm.InvalidArgument):
    error_code = INVALID_ARGUMENT


class NotFoundError(OpError, FileNotFoundError):
    error_code = NOT_FOUND


class AlreadyExistsError(OpError):
    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    error_code = PERMISSION_DENIED


class FailedPreconditionError(OpError):
    error_code = FAILED_PRECONDITION


class OutOfRangeError(OpError):
    error_code = OUT_OF_RANGE


class UnimplementedError(OpError, NotImplementedError):
    error_code = UNIMPLEMENTED


class InternalError(OpError, RuntimeError):
    error_code = INTERNAL


class DataLossError(OpError):
    error_code = DATA_LOSS


class CancelledError(OpError):
    error_code = CANCELLED


class UnknownError(OpError):
    error_code = UNKNOWN


class AbortedError(OpError):
    error_code = ABORTED


class DeadlineExceededError(OpError):
    error_code = DEADLINE_EXCEEDED


class UnavailableError(OpError):
    error_code = UNAVAILABLE


class UnauthenticatedError(OpError):
    error_code = UNAUTHENTICATED


ResourceExhaustedError = pm.OutOfMemory


def unsupported(name: str, argument: str | None = None, way: str | None = None) -> NoReturn:
    """Refuses a name, or an argument of one, and says what comes nearest here.

    >>> unsupported("tf.sets.union", way="numpy.union1d on x.numpy()")
    """
    what = name if argument is None else f"{argument} of {name}"
    hint = f"; {way}" if way else ""
    raise NotImplementedError(f"{what} is not supported by plimsoll.compat.tf{hint}")


def refuse(name: str, **given: Any) -> None:
    """Refuses arguments that are given and not None (False, 0): `refuse("tf.pad", name=name)`."""
    for argument, value in given.items():
        if value is not None and value is not False:
            unsupported(name, f"{argument}={value!r}", f"leave {argument} out")
