"""What tf.profiler writes."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import plimsoll as pm

from ._errors import AlreadyExistsError, UnavailableError

_running: list[dict[str, Any]] = []


def start(folder: Any) -> None:
    if _running:
        raise AlreadyExistsError(None, None, "Another profiler is running.")
    device = pm.default_device()
    device.budget.reset_peak()
    _running.append({"folder": os.fspath(folder), "began": time.time(), "parts": [], "open": {}})


def begin(name: str) -> None:
    for each in _running:
        each["open"][name] = time.perf_counter()


def end(name: str) -> None:
    for each in _running:
        began = each["open"].pop(name, None)
        if began is not None:
            each["parts"].append({"name": name, "seconds": time.perf_counter() - began, "bytes_after": pm.default_device().used})


def stop(save: bool) -> None:
    if not _running:
        raise UnavailableError(None, None, "Cannot export profiling results. No profiler is running.")
    found = _running.pop()
    if not save:
        return
    device = pm.default_device()
    os.makedirs(found["folder"], exist_ok=True)
    holders = [{"tag": each.tag, "label": each.label, "bytes": each.bytes} for each in device.budget.peak_holders()]
    with open(os.path.join(found["folder"], "memory.json"), "w") as file:
        json.dump({"device": device.name, "seconds": time.time() - found["began"], "peak": sum(each["bytes"] for each in holders), "holders": holders, "used": device.used, "parts": found["parts"]}, file, indent=1)
