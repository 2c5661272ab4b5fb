"""Nothing grows: neither the process nor the ledger."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from typing import Callable

import numpy as np
import pytest

import plimsoll as pm

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def grows(work: Callable[[], None], times: int, warm_up: int) -> int:
    """Bytes by which the process grows over `times` calls, after `warm_up` of them."""
    for _ in range(warm_up):
        work()
    gc.collect()
    before = resident()
    for _ in range(times):
        work()
    gc.collect()
    return resident() - before


def test_round_trips_leave_nothing(device: pm.Device) -> None:
    array = np.zeros((64, 1024), np.float32)

    def round_trip() -> None:
        back = pm.from_numpy(array).numpy()
        assert back.shape == (64, 1024)
        np.from_dlpack(pm.from_dlpack(array))

    assert grows(round_trip, 500, 100) < 4 << 20
    assert device.budget.holders() == []


def test_copies_leave_nothing(device: pm.Device) -> None:
    array = np.zeros((64, 1024), np.float32)

    def copy() -> None:
        pm.tensor(array).numpy()[0, 0] = 1

    assert grows(copy, 300, 50) < 4 << 20
    assert device.budget.holders() == []


def test_refusals_leave_nothing(device: pm.Device) -> None:
    def refuse() -> None:
        with pytest.raises(pm.OutOfMemory):
            pm.zeros((1 << 20, 4096))

    assert grows(refuse, 100, 20) < 4 << 20
    assert device.budget.holders() == []


def test_trainers_that_are_made_and_dropped_leave_nothing(device: pm.Device) -> None:
    x, y = np.zeros((8, 4), np.float32), np.zeros(8, np.int64)

    class Net(pm.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = pm.nn.Dense(3)

        def forward(self, x: pm.Tensor) -> pm.Tensor:
            result: pm.Tensor = self.layer(x)
            return result

    def train() -> None:
        batches = pm.data.from_tensor_slices((x, y)).batch(4)
        trainer = pm.Trainer(Net(), loss=lambda p, t: pm.nn.cross_entropy(p, t))
        trainer.fit(batches, steps=1)

    assert grows(train, 40, 10) < 8 << 20
    assert device.budget.holders() == []


def test_eight_threads_use_one_device(device: pm.Device) -> None:
    failed: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for i in range(50):
                x = pm.tensor(np.full((32, 32), seed, np.float32))
                assert (x @ x).sum().item() == 32 * 32 * 32 * seed * seed
                assert pm.from_numpy(x.numpy()).sum().item() == 32 * 32 * seed
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == []
    gc.collect()
    assert device.budget.holders() == []


def test_the_package_is_imported_quickly_and_loads_no_cuda() -> None:
    code = """
import sys, time
begin = time.process_time()
import plimsoll
took = time.process_time() - begin
assert "numpy" not in sys.modules, "NumPy is loaded when it is needed"
maps = open("/proc/self/maps").read()
assert "libcuda" not in maps and "libcudart" not in maps and "libcublas" not in maps
print(took)
"""
    # Processor time of the best of a few, so that a busy machine does not matter.
    took = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        took.append(float(done.stdout))
    assert min(took) < 0.15, took
