"""Nothing grows over many times: round trips of arrays and tensors, trainers, refusals."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import plimsoll as pm
from test_leaks import grows


def test_ten_thousand_round_trips_of_arrays_leave_nothing(device: pm.Device) -> None:
    array = np.zeros((64, 1024), np.float32)

    def round_trip() -> None:
        back = pm.from_numpy(array).numpy()
        assert back.__array_interface__["data"] == array.__array_interface__["data"]
        np.from_dlpack(pm.from_dlpack(array))

    assert grows(round_trip, 10_000, 500) < 4 << 20
    assert device.budget.holders() == []


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not here")
def test_ten_thousand_round_trips_of_torch_leave_nothing(device: pm.Device) -> None:
    torch: Any = importlib.import_module("torch")
    given = torch.zeros(64, 1024)

    def round_trip() -> None:
        back = torch.from_dlpack(pm.from_dlpack(given))
        assert back.data_ptr() == given.data_ptr()

    assert grows(round_trip, 10_000, 500) < 4 << 20
    assert device.budget.holders() == []


def test_a_thousand_refusals_leave_nothing(device: pm.Device) -> None:
    def refuse() -> None:
        with pytest.raises(pm.OutOfMemory):
            pm.zeros((1 << 20, 4096))

    assert grows(refuse, 1_000, 100) < 4 << 20
    assert device.budget.holders() == []


def test_a_thousand_trainers_leave_nothing(device: pm.Device) -> None:
    x, y = np.zeros((8, 4), np.float32), np.zeros(8, np.int64)

    def train() -> None:
        batches = pm.data.from_tensor_slices((x, y)).batch(4)
        trainer = pm.Trainer(pm.nn.Dense(3), loss=lambda p, t: pm.nn.cross_entropy(p, t))
        trainer.fit(batches, steps=1)

    assert grows(train, 1_000, 100) < 8 << 20
    assert device.budget.holders() == []
