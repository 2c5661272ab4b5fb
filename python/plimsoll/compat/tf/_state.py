"""What the thread is doing: within an op, replaying, recording into a graph, on a device."""

from __future__ import annotations

import threading
from typing import Any


class State(threading.local):
    """One for each thread.

    inside: within an op, whose calls of other ops take and give raw values.
    graph: the v1 graph that ops are recorded into, or None where they run.
    replaying: how many replays of recorded calls it is in; ops then run or are traced.
    pure: in a branch that may not be taken, where nothing may be assigned.
    tapes: how many tapes record here that are not part of a trace.
    bound: values of symbolic tensors that the function of a loop reads from around it, by node and index.
    """

    inside: bool = False
    graph: Any = None
    replaying: int = 0
    pure: int = 0
    tapes: int = 0
    bound: dict[Any, Any] = {}  # replaced, never changed


state = State()
functions_eagerly: list[bool] = [False]
log_placement: list[bool] = [False]
default_graph_on: list[bool] = [False]  # disable_eager_execution() is for all threads


def recording() -> Any:
    """The graph that ops are recorded into now, or None."""
    if state.replaying:
        return None
    if state.graph is not None:
        return state.graph
    if default_graph_on[0]:
        from ._graph import default_graph

        return default_graph()
    return None
