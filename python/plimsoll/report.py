"""Runs as their logs tell them: pages, and files for other tools.

>>> history = trainer.fit(train, epochs=3, log="run.jsonl")
>>> pm.report.write_html("run.jsonl", "run.html")
>>> pm.report.read_run("run.jsonl").verdict
"""

from __future__ import annotations

from ._core import MetricsServer, RunReport, chart
from ._core._report import (
    html, read_run, write_csv, write_html, write_json, write_memory_viz, write_perfetto,
    write_tensorboard,
)

__all__ = [
    "MetricsServer", "RunReport", "chart", "html", "read_run", "write_csv", "write_html", "write_json", "write_memory_viz",
    "write_perfetto", "write_tensorboard",
]
