"""How long a call takes in PyTorch, as a recorded graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def graph_us(function: Callable[[], Any], least: float = 1.5e-3) -> float:
    """Microseconds of a call: many in one graph, the least of three replays."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        function()
        function()
        first, last = torch.cuda.Event(True), torch.cuda.Event(True)
        first.record()
        function()
        last.record()
        stream.synchronize()
        once = first.elapsed_time(last) * 1e-3
        repeats = min(60, max(1, int(least / max(once, 1e-6))))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(repeats):
                function()
        best = float("inf")
        for _ in range(1 if once > 0.02 else 3):
            first.record()
            graph.replay()
            last.record()
            stream.synchronize()
            best = min(best, first.elapsed_time(last))
    del graph
    return float(best / repeats * 1e3)
