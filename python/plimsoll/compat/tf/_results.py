"""Named results of functions that give several tensors."""

from __future__ import annotations

from typing import Any, NamedTuple


class TopKV2(NamedTuple):
    values: Any
    indices: Any


class Unique(NamedTuple):
    y: Any
    idx: Any


class UniqueWithCounts(NamedTuple):
    y: Any
    idx: Any
    count: Any


class Moments(NamedTuple):
    mean: Any
    variance: Any


class DecodeWav(NamedTuple):
    audio: Any
    sample_rate: Any
