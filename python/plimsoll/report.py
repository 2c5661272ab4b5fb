"""Runs as their logs tell them: pages, and files for other tools.

>>> history = trainer.fit(train, epochs=3, log="run.jsonl")
>>> pm.report("run.jsonl")                             # a notebook shows the page
>>> pm.report.write_html("run.jsonl", "run.html")
>>> pm.report.read_run("run.jsonl").verdict
"""

from __future__ import annotations

import os
import sys
import types
from typing import Sequence, Union, cast

from . import errors
from ._core import MetricsServer, RunReport, chart
from ._core._report import (
    html, read_run, read_run_log, write_csv, write_html, write_json, write_memory_viz, write_perfetto,
    write_tensorboard,
)
from ._traceback import boundary, guarded

__all__ = [
    "MetricsServer", "Page", "RunReport", "chart", "html", "read_run", "read_run_log", "show", "write_csv", "write_html",
    "write_json", "write_memory_viz", "write_perfetto", "write_tensorboard",
]

_Shown = Union[RunReport, str, "os.PathLike[str]", errors.OutOfMemory]


@guarded
class Page:
    """A page of runs, which a notebook shows.

    >>> pm.report.show("run.jsonl").save("run.html")
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        import html as escape

        # Its scripts run in a frame of their own and see nothing of the notebook.
        return (f'<iframe sandbox="allow-scripts" style="width:100%;height:760px;border:0" '
                f'srcdoc="{escape.escape(self.text)}"></iframe>')

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)


def _refused(error: errors.OutOfMemory) -> RunReport:
    import json

    report = {
        "error": "out_of_memory", "requested": error.requested, "tag": error.tag, "label": error.label,
        "budget": error.budget, "limit": error.limit, "used": error.used,
        "holders": [each._asdict() for each in error.holders], "remedies": [each._asdict() for each in error.remedies],
    }
    return read_run_log(json.dumps(report), name="out of memory")


@boundary
def show(runs: _Shown | Sequence[_Shown], *, title: str = "") -> Page:
    """The page of a run, of several that are compared, or of an OutOfMemory.

    >>> pm.report.show("run.jsonl")
    """
    several = cast("list[_Shown]", list(runs) if isinstance(runs, (list, tuple)) else [runs])
    drawn = [_refused(each) if isinstance(each, errors.OutOfMemory) else each for each in several]
    return Page(html(drawn, title=title))


@guarded
class _Report(types.ModuleType):
    """`pm.report(run)` is `pm.report.show(run)`."""

    def __call__(self, runs: _Shown | Sequence[_Shown], *, title: str = "") -> Page:
        return show(runs, title=title)


sys.modules[__name__].__class__ = _Report
