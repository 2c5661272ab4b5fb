from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import Iterator

import pytest

import plimsoll as pm


@contextmanager
def default_device(name: str, limit: str) -> Iterator[pm.Device]:
    """A device that is opened for a test, its default one."""
    pm.set_default_device(None)
    gc.collect()
    opened = pm.device(name, limit=limit)
    pm.set_default_device(opened)
    yield opened
    pm.set_default_device(None)
    del opened
    gc.collect()


@pytest.fixture
def device() -> Iterator[pm.Device]:
    """cpu:0 within 256 MiB, the default device of the test."""
    with default_device("cpu", "256MiB") as opened:
        yield opened


@pytest.fixture
def gpu() -> Iterator[pm.Device]:
    """cuda:0 within 2 GiB, the default device of the test."""
    with default_device("cuda:0", "2GiB") as opened:
        yield opened
