"""Functions of loops in a graph: the symbolic tensors that they read from around them."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable, Iterator

from ._state import state
from ._symbolic import record, records_in


def record_with(call: Callable[..., Any], functions: tuple[Any, ...], args: tuple[Any, ...], name: str) -> Any:
    """Records `call(*args)`, which calls `functions`: symbolic tensors and variables that these read from around
    them get values together with the arguments."""
    around: list[Any] = []
    for each in (value for f in functions for value in _read_by(f, set())):
        if all(each is not known for known in around):
            around.append(each)
    read = [records_in(each)[0] for each in around]

    def run(*values: Any) -> Any:
        before = state.bound
        state.bound = {**before, **{(r.node, r.index): value for r, value in zip(read, values[len(args):])}}
        try:
            return call(*values[: len(args)])
        finally:
            state.bound = before

    return record(run, (*args, *around), {}, name)


def _read_by(f: Any, seen: set[int]) -> Iterator[Any]:
    """Symbolic tensors and variables of graphs among what a function reads: by name, in lists, in objects, and in
    functions that it calls."""
    if id(f) in seen:
        return
    seen.add(id(f))
    if isinstance(f, functools.partial):
        yield from _symbolic((f.args, f.keywords), seen)
        yield from _read_by(f.func, seen)
    elif isinstance(f, types.MethodType):
        yield from _symbolic(f.__self__, seen)
        yield from _read_by(f.__func__, seen)
    elif isinstance(f, types.FunctionType) and not f.__module__.startswith(__package__ or "plimsoll"):
        for cell in f.__closure__ or ():
            try:
                yield from _symbolic(cell.cell_contents, seen)
            except ValueError:  # not assigned yet
                continue
        for key in sorted(_names(f.__code__)):
            if key in f.__globals__:
                yield from _symbolic(f.__globals__[key], seen)


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            found |= _names(each)
    return found


def _symbolic(value: Any, seen: set[int]) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _symbolic(each, seen)
    elif isinstance(value, dict):
        yield from _symbolic(list(value.values()), seen)
    elif isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        yield from _read_by(value, seen)
    elif records_in(value):
        yield value
    elif hasattr(value, "__dict__") and not isinstance(value, (type, types.ModuleType)) and id(value) not in seen:
        seen.add(id(value))
        for each in vars(value).values():
            if records_in(each):
                yield from _symbolic(each, seen)
