"""What notebooks show of tensors, datasets, plans, devices and histories."""

from __future__ import annotations

import xml.etree.ElementTree
from typing import Any

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")


def shown(value: Any) -> str:
    text: str = value._repr_html_()
    xml.etree.ElementTree.fromstring(f"<div>{text.replace('<br>', '<br/>')}</div>")
    return text


def test_everything_is_shown() -> None:
    train = pm.data.from_tensor_slices((np.zeros((32, 4), np.float32), np.zeros(32, np.int64))).batch(8)
    trainer = pm.Trainer(pm.nn.mlp(in_features=4, hidden=(8,), classes=3), metrics=["accuracy"])
    plan = trainer.plan(train)
    picture = plan.to_svg()
    assert picture in shown(plan) and "parameters" in picture and "budget 256 MiB" in picture
    history = trainer.fit(train, epochs=2)
    assert "<polyline" in shown(history) and "accuracy" in shown(history)
    assert "cpu:0" in shown(pm.default_device()) and "<rect" in shown(pm.default_device())
    assert "<td>1.5</td>" in shown(pm.tensor([[1.5, 2.0]])) and "[2]" not in shown(pm.tensor(1.0))
    assert "<pre>" in shown(pm.zeros((4, 4, 4))) and "&lt;b" in shown(pm.tensor(["<b>"]))
    assert "batch" in shown(train)
    model = pm.nn.Sequential(pm.nn.Dense(3, in_features=2), pm.nn.Sequential(pm.nn.ReLU()))
    tree = "Sequential(9 parameters)\n  0: Dense(9 parameters)\n  1: Sequential()\n    0: ReLU()"
    assert str(model) == tree and tree in shown(model) and repr(model) == "Sequential(9 parameters)"
    assert repr(pm.default_device().session("open")) == "Session('cpu:0/open', 0 B used)"


def test_memory_of_the_host_is_none_of_cuda() -> None:
    assert not hasattr(pm.zeros((2,)), "__cuda_array_interface__")
