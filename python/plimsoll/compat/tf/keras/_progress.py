"""Keras's progress bar, with the memory beside it."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import plimsoll as pm


class Progbar:
    """Keras's bar, with the memory that the budget is charged with beside it."""

    def __init__(self, steps: int | None, epochs: int, verbose: int) -> None:
        self._epochs, self._verbose = epochs, verbose
        self._dynamic = sys.stdout is not None and sys.stdout.isatty()
        self._start = self._last = time.monotonic()
        self._width = 0
        self._seen = 0

    def begin(self, epoch: int | None) -> None:
        if epoch is not None:
            print(f"Epoch {epoch + 1}/{self._epochs}", flush=True)
        self._start = self._last = time.monotonic()
        self._width = self._seen = 0

    def due(self, step: int, steps: int | None) -> bool:
        """Whether it is time to show numbers: a few times a second, on a terminal."""
        self._seen = step + 1
        if self._verbose != 1 or not self._dynamic:
            return False
        now = time.monotonic()
        if now - self._last < 0.2 and step > 0:
            return False
        self._last = now
        return True

    def update(self, done: int, steps: int | None, logs: dict[str, Any]) -> None:
        if self._verbose == 1 and self._dynamic:
            text = self._line(done, steps, logs, False)
            sys.stdout.write("\r" + text + " " * max(self._width - len(text), 0))
            sys.stdout.flush()
            self._width = len(text)

    def end(self, steps: int | None, logs: dict[str, Any]) -> None:
        text = self._line(self._seen or steps or 1, steps, logs, True)
        lead = "\r" if self._dynamic and self._verbose == 1 else ""
        print(lead + text + " " * max(self._width - len(text), 0), flush=True)

    def _line(self, done: int, steps: int | None, logs: dict[str, Any], finished: bool) -> str:
        spent = time.monotonic() - self._start
        each = spent / max(done, 1)
        parts = []
        if self._verbose == 1:
            total = str(steps) if steps else "Unknown"
            share = min(done / steps, 1.0) if steps else 1.0
            bar = "━" * int(20 * share) + "─" * (20 - int(20 * share))
            parts.append(f"{done}/{total} {bar} {_seconds(spent if finished else each * ((steps or done) - done))}"
                         f" {_step_time(each)}/step")
        else:
            parts.append(f"{done}/{steps or done} - {_seconds(spent)} - {_step_time(each)}/step")
        for key, value in logs.items():
            if np.ndim(value) == 0:
                shown = f"{value:.4f}" if abs(value) > 1e-3 or value == 0 else f"{value:.4e}"
                parts.append(f"{key}: {shown}")
        parts.append(_memory())
        return " - ".join(parts)


def _seconds(value: float) -> str:
    if value >= 3600:
        return f"{int(value // 3600)}:{int(value % 3600 // 60):02d}:{int(value % 60):02d}"
    return f"{int(value // 60)}:{int(value % 60):02d}" if value >= 60 else f"{value:.0f}s"


def _step_time(value: float) -> str:
    if value >= 1:
        return f"{value:.0f}s"
    return f"{value * 1e3:.0f}ms" if value >= 1e-3 else f"{value * 1e6:.0f}us"


def _memory() -> str:
    budget = pm.default_device().budget
    limit = budget.limit
    used = pm.format_bytes(budget.used)
    return f"memory: {used}" + (f" of {pm.format_bytes(limit)}" if limit and limit < 1 << 60 else "")
