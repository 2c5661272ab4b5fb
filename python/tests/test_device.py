"""Devices, limits, sessions, and memory that is refused."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import plimsoll as pm


def test_a_limit_is_a_string_or_an_integer(device: pm.Device) -> None:
    assert device.limit == 256 << 20
    assert pm.device("cpu", limit=256 << 20) == device
    assert device.name == "cpu:0"
    assert "256 MiB" in repr(device)


def test_sizes_are_parsed_and_formatted() -> None:
    assert pm.parse_bytes("8GiB") == 8 << 30
    assert pm.parse_bytes(4096) == 4096
    assert pm.format_bytes(8 << 30) == "8 GiB"


def test_a_refusal_says_who_holds_what_and_what_would_help(device: pm.Device) -> None:
    held = pm.zeros((64, 1024, 1024), dtype=pm.u8, device=device)
    used = device.used
    with pytest.raises(pm.OutOfMemory) as caught:
        pm.zeros((1 << 20, 4096), device=device)
    refused = caught.value
    assert isinstance(refused, MemoryError)
    assert isinstance(refused, pm.Error)
    assert refused.requested == (1 << 20) * 4096 * 4
    assert refused.budget == "cpu:0"
    assert refused.limit == 256 << 20
    assert refused.holders[0].bytes >= 64 << 20
    assert any("raise the limit" in each.text for each in refused.remedies)
    assert "[out of memory]" in str(refused)
    assert device.used == used, "nothing was taken"
    assert held.shape == (64, 1024, 1024)


def test_a_refused_call_succeeds_after_memory_is_freed(device: pm.Device) -> None:
    held = pm.zeros((200, 1024, 1024), dtype=pm.u8, device=device)
    with pytest.raises(pm.OutOfMemory):
        pm.zeros((100, 1024, 1024), dtype=pm.u8, device=device)
    del held
    assert pm.zeros((100, 1024, 1024), dtype=pm.u8, device=device).nbytes == 100 << 20


def test_memory_of_a_session_is_back_at_its_end(device: pm.Device) -> None:
    before = device.used
    with device.session("evaluation", limit="64MiB") as scope:
        x = pm.zeros((16, 1024, 1024), dtype=pm.u8)
        assert x.device == scope.device, "a session is the default device within it"
        assert device.used > before
    assert device.used == before
    with pytest.raises(pm.Error, match="evaluation"):
        x.numpy()


def test_a_session_does_not_close_under_an_array_that_shares_its_memory(device: pm.Device) -> None:
    scope = device.session("evaluation", limit="64MiB")
    array = pm.ones((4, 4), device=scope).numpy()
    with pytest.raises(pm.Error, match="numpy.array"):
        scope.close()
    assert array.sum() == 16
    del array
    gc.collect()
    scope.close()
    assert scope.closed


def test_a_lowered_limit_holds(device: pm.Device) -> None:
    device.budget.limit = "32MiB"
    with pytest.raises(pm.OutOfMemory):
        pm.zeros((64, 1024, 1024), dtype=pm.u8, device=device)
    device.budget.limit = "256MiB"
    assert pm.zeros((64, 1024, 1024), dtype=pm.u8, device=device).ndim == 3


def test_a_device_splits_into_logical_ones(device: pm.Device) -> None:
    first, second = device.split(["96MiB", "32MiB"])
    assert (first.name, second.name) == ("cpu:0/0", "cpu:0/1")
    assert first.limit == 96 << 20


def test_foreign_memory_is_not_charged(device: pm.Device) -> None:
    before = device.used
    x = pm.from_numpy(np.zeros((64, 1024, 1024), np.uint8))
    assert x.nbytes == 64 << 20
    assert device.used == before
