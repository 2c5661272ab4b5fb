from __future__ import annotations

import gc
from typing import Iterator

import pytest

import plimsoll as pm


@pytest.fixture
def device() -> Iterator[pm.Device]:
    """cpu:0 within 256 MiB, the default device of the test."""
    pm.set_default_device(None)
    gc.collect()
    opened = pm.device("cpu", limit="256MiB")
    pm.set_default_device(opened)
    yield opened
    pm.set_default_device(None)
    del opened
    gc.collect()
