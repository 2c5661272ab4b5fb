"""What becomes of functions that cannot be traced: they run op by op, and a warning names the line."""

from __future__ import annotations

import warnings
from typing import Any, Callable

import plimsoll as pm
from plimsoll._traceback import entries_of, is_ours

from ._errors import InvalidArgumentError, OpError

# What a function raises that looks at values while it is traced, or calls what works on values alone.
LOOKS = (TypeError, AttributeError, NotImplementedError, ValueError, pm.InvalidArgument, IndexError, KeyError)


def line_of(error: BaseException) -> str:
    """Where in the user's code it was raised, as " (file:line)"."""
    theirs = [entry for entry in entries_of(error) if not is_ours(entry)]
    return f" ({theirs[-1].tb_frame.f_code.co_filename}:{theirs[-1].tb_lineno})" if theirs else ""


class Body:
    """The body of a planned function, which remembers what kept it from being traced."""

    def __init__(self, body: Callable[[list[Any]], list[Any]]) -> None:
        self._body = body
        self.error: Exception | None = None

    def __call__(self, traced: list[Any]) -> list[Any]:
        try:
            return self._body(traced)
        except LOOKS as error:
            self.error = error
            raise


def call_planned(planned: Any, values: list[Any], body: Body) -> Any:
    """Runs a planned function; what its ops refuse is an error of tf.errors, as it is of eager ops."""
    try:
        return planned.call(values, body)
    except pm.InvalidArgument as error:
        if body.error is not None or isinstance(error, OpError):
            raise
        raise InvalidArgumentError(None, None, str(error)) from None


def op_by_op(name: str, error: Exception, run: Callable[[], Any]) -> Any:
    """`run()`, which computes without a plan. What it raises itself is raised; otherwise a warning says
    why there is no plan."""
    line, error.__traceback__ = line_of(error), None  # frames keep tensors
    result = run()
    warnings.warn(
        f"[function] {name} cannot be traced{line}: {error}. It runs op by op, like eager code, and is not planned",
        stacklevel=4,
    )
    return result
