"""Assignments: limits that move."""

from __future__ import annotations

import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")


def test_setting_the_limit_of_a_device_moves_that_of_its_budget(device: pm.Device) -> None:
    device.limit = "192MiB"
    assert device.limit == device.budget.limit == 192 << 20
    first, second = device.split(["32MiB", "32MiB"])
    first.limit = 16 << 20
    assert first.limit == 16 << 20 and second.limit == 32 << 20
    kept = pm.zeros((4 << 20,), dtype=pm.u8, device=first)
    with pytest.raises(pm.InvalidArgument, match="cannot be lowered to 1 MiB: 4 MiB is in use"):
        first.limit = "1MiB"
    assert first.limit == 16 << 20 and kept.size == 4 << 20
    with pytest.raises(pm.InvalidArgument, match=r"\[Device\] limit"):
        device.limit = "lots"
    with pytest.raises(TypeError, match=r"\[Device\] limit is None"):
        device.limit = None  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"\[Budget\] limit is None"):
        device.budget.limit = None  # type: ignore[assignment]


def test_the_limit_of_a_session_is_its_own(device: pm.Device) -> None:
    with device.session("bounded", limit="16MiB") as scope:
        scope.limit = "8MiB"
        assert scope.limit == scope.device.limit == 8 << 20
        with pytest.raises(pm.OutOfMemory):
            pm.zeros((16 << 20,), dtype=pm.u8)
        scope.limit = "32MiB"
        assert pm.zeros((16 << 20,), dtype=pm.u8).size == 16 << 20
    with device.session("free") as scope:
        assert scope.limit is None and scope.device.limit is None
