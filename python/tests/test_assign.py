"""Assignments: limits that move, what is read-only, and names that nothing would read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")


def refused(thing: Any, name: str, value: Any) -> str:
    with pytest.raises(AttributeError) as error:
        setattr(thing, name, value)
    return str(error.value)


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
    total = device.info()["total"]
    device.limit = "25%"
    assert device.limit == total // 4
    device.limit = 0.125
    assert device.limit == total // 8
    with pytest.raises(TypeError, match=r"\[Device\] limit is True"):
        device.limit = True
    with pytest.raises(TypeError, match=r"\[split\] limits is 2 \(an int\); give a list"):
        device.split(2)  # type: ignore[arg-type]
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


def test_what_is_read_only_says_so_and_what_to_write() -> None:
    x, net = pm.zeros((2, 3)), pm.nn.Dense(3)
    net(pm.zeros((1, 2)))
    assert refused(x, "shape", (3, 2)) == (
        "[Tensor] shape cannot be set to (3, 2) (a tuple): it is read-only; use x.reshape(shape), which gives "
        "another tensor"
    )
    assert "use x.to(dtype)" in refused(x, "dtype", pm.f64)
    assert refused(pm.default_device(), "used", 0) == "[Device] used cannot be set to 0 (an int): it is read-only"
    assert "use net.weight.assign(values)" in refused(net, "weight", np.zeros((3, 2), np.float32))
    assert "use net.train(), or net.eval()" in refused(net, "training", False)
    trainer = pm.Trainer(net, loss="cross_entropy")
    assert "use another pm.Trainer" in refused(trainer, "model", net)
    assert x.shape == (2, 3) and trainer.model is net


def test_names_that_nothing_would_read_are_refused() -> None:
    net, optimizer = pm.nn.Dense(3), pm.optim.sgd(0.5)
    for name in ("lr", "learning_rate", "rate"):
        assert "use optimizer.rate_factor = 0.1" in refused(optimizer, name, 1e-4)
    assert optimizer.rate == 0.5
    with pytest.raises(TypeError, match=r"\[Optimizer\] rate_factor is 'a' \(a str\); it must be a number"):
        optimizer.rate_factor = "a"  # type: ignore[assignment]
    optimizer.rate_factor = 0.1
    assert optimizer.rate == pytest.approx(0.05)
    trainer = pm.Trainer(net, loss="cross_entropy", optimizer=optimizer)
    assert refused(trainer, "lr", 0.1).startswith("[Trainer] there is no lr that could be set to 0.1 (a float); use")
    assert "use dataset.batch(size)" in refused(pm.data.range(3), "batch_size", 2)

    class Own(pm.Trainer):
        pass

    own = Own(net, loss="cross_entropy")
    own.note = "attributes of one's own classes are one's own"  # type: ignore[attr-defined]
    net.note = "and so are those of modules"


def test_gradients_are_found_by_place_by_variable_and_by_name() -> None:
    w, b = pm.Variable(pm.ones((2,)), name="w"), pm.Variable(pm.ones((1,)), name="b")
    gradients = pm.Gradients([w, b], [pm.tensor([1.0, 2.0]), None])
    for index in (0, -2, w, "w"):
        found = gradients[index]
        assert found is not None and found.tolist() == [1, 2]
    assert gradients[b] is None
    with pytest.raises(IndexError, match="there is no gradient 2; there are 2"):
        gradients[2]
    with pytest.raises(KeyError, match="there is no gradient of 'c'; there are: w, b"):
        gradients["c"]
    with pytest.raises(TypeError, match=r"index is 1.5 \(a float\); it must be an integer, a variable or its name"):
        gradients[1.5]  # type: ignore[index]
