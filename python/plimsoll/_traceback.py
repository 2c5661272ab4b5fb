"""Tracebacks that end in the user's line.

What people call is a boundary: an exception that leaves through it loses the frames of this package,
so that the last line shown is one of theirs. PLIMSOLL_FULL_TRACEBACK=1 keeps all frames, and so does a
failure that is not the user's: InternalError, or one that nobody here has put into words.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import types
from typing import Any, Callable, TypeVar, cast

from . import _mistakes
from .errors import Error, InternalError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

PACKAGE = os.path.dirname(__file__) + os.sep
_RAISE = dis.opmap["RAISE_VARARGS"]
_GUARDED = (
    "__init__", "__call__", "__get__", "__iter__", "__next__", "__len__", "__enter__", "__getitem__", "__add__",
    "__reduce_ex__",
)


def is_ours(entry: types.TracebackType) -> bool:
    name = entry.tb_frame.f_code.co_filename
    return name.startswith(PACKAGE) or name == "<frozen runpy>"  # the latter: python -m plimsoll...


def entries_of(error: BaseException) -> list[types.TracebackType]:
    found, entry = [], error.__traceback__
    while entry is not None:
        found.append(entry)
        entry = entry.tb_next
    return found


def _is_for_the_user(error: BaseException, entries: list[types.TracebackType]) -> bool:
    if isinstance(error, InternalError):
        return False
    if isinstance(error, (Error, OSError)) or not isinstance(error, Exception):  # the latter: Ctrl-C
        return True
    # "[batch] size is ...", or raised by a function of the user's that was called from here.
    return str(error).startswith("[") or not entries or not is_ours(entries[-1])


def _is_worded(error: BaseException, entries: list[types.TracebackType]) -> bool:
    """Whether a `raise` made the error, rather than something that went wrong in this package."""
    if _is_for_the_user(error, entries):
        return True
    last = entries[-1]
    raised = last.tb_frame.f_code.co_code[last.tb_lasti] == _RAISE
    return raised and not isinstance(error, (InternalError, AssertionError))


def trim_uncaught() -> None:
    """Shows errors that end the program without the frames of this package, where the package raised them."""
    if sys.excepthook is not sys.__excepthook__:
        return  # somebody else shows them

    def show(kind: type[BaseException], error: BaseException, at: types.TracebackType | None) -> None:
        trim(error, _is_worded)
        sys.__excepthook__(kind, error, error.__traceback__)

    sys.excepthook = show


def trim(error: BaseException, wanted: Callable[[BaseException, list[types.TracebackType]], bool] = _is_for_the_user) -> None:
    """Takes the frames of this package out of the error's traceback, and out of those of what it came
    from. For an `except` clause that then says `raise` and nothing else, which adds no frame."""
    if os.environ.get("PLIMSOLL_FULL_TRACEBACK", "0") not in ("", "0"):
        return
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        entries = entries_of(one)
        if not wanted(one, entries):
            return
        kept: types.TracebackType | None = None
        for each in reversed(entries):
            if not is_ours(each):
                kept = types.TracebackType(kept, each.tb_frame, each.tb_lasti, each.tb_lineno)
        one.__traceback__ = kept
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def boundary(f: F) -> F:
    """A function that people call."""

    @functools.wraps(f)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return f(*given, **named)
        except BaseException as error:
            if isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None:
                # Where arguments do not fit its signature, f has not begun.
                mistake = _mistakes.of_call(f, given, named)
                error.args = error.args if mistake is None else mistake.args
            trim(error)
            raise

    return cast(F, call)


def worded(f: F) -> F:
    """A function of this package that raises what it says in words for the user, whatever the class."""

    @functools.wraps(f)
    def call(*given: Any) -> Any:
        try:
            return f(*given)
        except Exception as error:
            trim(error, _is_worded)
            raise

    return cast(F, call)


def guarded(made: C) -> C:
    """A class whose public methods and properties people call."""
    for name, value in list(vars(made).items()):
        if name.startswith("_") and name not in _GUARDED:
            continue
        if isinstance(value, types.FunctionType):
            setattr(made, name, boundary(value))
        elif isinstance(value, property) and value.fget is not None:
            setattr(made, name, property(boundary(value.fget), value.fset, value.fdel, value.__doc__))
    return made
