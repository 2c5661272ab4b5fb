"""Results of calls, packed: dtypes and shapes as they are, contents by samples or a checksum."""

from __future__ import annotations

import zlib
from typing import Any, Callable

import numpy as np

SAMPLES = 12


def outcome(call: Callable[[], Any]) -> dict[str, Any]:
    """What a call gives, or the kind of its error."""
    try:
        return {"value": packed(call())}
    except Exception as error:  # noqa: BLE001
        return {"error": kind_of(error)}


def kind_of(error: BaseException) -> str:
    """TensorFlow raises ValueError or InvalidArgumentError for the same mistake, by the place that finds it."""
    names = {each.__name__ for each in type(error).__mro__}
    if "TypeError" in names and "ValueError" not in names:
        return "type"
    return "value"


def packed(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [packed(each) for each in value]
    if isinstance(value, (str, int)):
        return value
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.kind in "OSU":
        texts = [each if isinstance(each, bytes) else str(each).encode() for each in array.ravel().tolist()]
        return {"dtype": "string", "shape": list(array.shape), "check": zlib.crc32(b"\0".join(texts))}
    made: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.dtype.kind == "f":
        flat = array.astype(np.float64).ravel()
        places = np.linspace(0, max(flat.size - 1, 0), min(SAMPLES, flat.size)).astype(int)
        made["samples"] = [_short(each) for each in flat[places]]
        made["sum"] = _short(np.abs(flat[np.isfinite(flat)]).sum())
    else:
        made["check"] = zlib.crc32(np.ascontiguousarray(array).tobytes())
    return made


def _short(value: float) -> Any:
    return float(f"{value:.8g}") if np.isfinite(value) else str(value)


def differs(ours: Any, theirs: Any, tolerance: float) -> str | None:
    """How two packed results differ; None where they do not."""
    if isinstance(theirs, list) or isinstance(ours, list):
        if not isinstance(ours, list) or not isinstance(theirs, list) or len(ours) != len(theirs):
            return f"{ours} is not {theirs}"
        return next((found for found in (differs(a, b, tolerance) for a, b in zip(ours, theirs)) if found), None)
    if not isinstance(theirs, dict) or "dtype" not in theirs:
        return None if ours == theirs else f"{ours} is not {theirs}"
    for key in ("dtype", "shape"):
        if ours[key] != theirs[key]:
            return f"{key} {ours[key]} is not {theirs[key]}"
    if "check" in theirs:
        return None if ours["check"] == theirs["check"] else f"contents of {theirs['dtype']}{theirs['shape']} differ"
    a, b = (np.asarray([float(x) for x in each["samples"]]) for each in (ours, theirs))
    scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0)))
    far = ~np.isclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    if far.any():
        return f"{a[far][0]} is not {b[far][0]}"
    count = max(int(np.prod(theirs["shape"])), 1)
    if abs(float(ours["sum"]) - float(theirs["sum"])) > tolerance * scale * count + 1e-9:
        return f"the sum {ours['sum']} is not {theirs['sum']}"
    return None
