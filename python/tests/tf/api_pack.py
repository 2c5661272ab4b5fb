"""Expected outcomes in a file: kinds, dtypes and shapes as JSON, values as bytes, all compressed."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np

Outcome = tuple[str, list[Any]]
HERE = Path(__file__).resolve().parent


def path_of(module: str) -> Path:
    return HERE / "expected" / f"{module}.xz"


def pack(path: Path, found: dict[str, list[Outcome]]) -> int:
    """Writes outcomes of functions; gives the bytes of the file."""
    heads: dict[str, Any] = {}
    bodies = []
    for name, outcomes in found.items():
        heads[name] = [
            kind if kind != "ok" else [[each.dtype.name if each.dtype != object else "object", list(each.shape)] for each in arrays]
            for kind, arrays in outcomes
        ]
        for _, arrays in outcomes:
            bodies += [_bytes(each) for each in arrays]
    head = json.dumps(heads, separators=(",", ":")).encode()
    path.parent.mkdir(exist_ok=True)
    data = lzma.compress(len(head).to_bytes(8, "little") + head + b"".join(bodies), preset=9)
    path.write_bytes(data)
    return len(data)


def unpack(path: Path) -> dict[str, list[Outcome]]:
    data = lzma.decompress(path.read_bytes())
    size = int.from_bytes(data[:8], "little")
    heads, at = json.loads(data[8:8 + size]), 8 + size
    found: dict[str, list[Outcome]] = {}
    for name, outcomes in heads.items():
        found[name] = []
        for each in outcomes:
            if isinstance(each, str):
                found[name].append((each, []))
                continue
            arrays = []
            for dtype, shape in each:
                array, at = _read(data, at, dtype, shape)
                arrays.append(array)
            found[name].append(("ok", arrays))
    return found


def _bytes(array: Any) -> bytes:
    if array.dtype == object:
        parts = [bytes(each) for each in array.reshape(-1)]
        return b"".join(len(each).to_bytes(4, "little") + each for each in parts)
    return np.ascontiguousarray(array).tobytes()


def _read(data: bytes, at: int, dtype: str, shape: list[int]) -> tuple[Any, int]:
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "object":
        made = np.empty(count, dtype=object)
        for i in range(count):
            size = int.from_bytes(data[at:at + 4], "little")
            made[i] = data[at + 4:at + 4 + size]
            at += 4 + size
        return made.reshape(shape), at
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer(data[at:at + size], dtype=dtype).reshape(shape), at + size
