"""Fifteen models as people write them, beside PyTorch's losses and gradients, and within budgets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plimsoll as pm
from practice.ours import MODELS

RECORDED = Path(__file__).parent / "practice" / "recorded.safetensors"
COPIES = 512  # of the recorded batch, so that there is something to plan


def _recorded(name: str) -> dict[str, np.ndarray[Any, Any]]:
    """All of one model, without its name in front."""
    everything = pm.load_safetensors(RECORDED)
    return {key.removeprefix(name + "."): value.numpy().copy() for key, value in everything.items()
            if key.startswith(name + ".")}


def _batch(recorded: dict[str, np.ndarray[Any, Any]]) -> list[pm.Tensor]:
    return [pm.tensor(recorded[f"x.{i}"]) for i in range(sum(key.startswith("x.") for key in recorded))]


def _loaded(name: str, recorded: dict[str, np.ndarray[Any, Any]]) -> Any:
    net = MODELS[name]()
    net(*_batch(recorded)[:-1])  # layers learn what comes in
    weights = {key.removeprefix("p."): value for key, value in recorded.items() if key.startswith("p.")}
    missing, unexpected = net.load_state_dict(weights, strict=False)
    assert not unexpected and all("running" in each for each in missing), (missing, unexpected)
    return net


def _trainer(name: str, recorded: dict[str, np.ndarray[Any, Any]]) -> pm.Trainer:
    return pm.Trainer(_loaded(name, recorded), loss=MODELS[name].loss, optimizer=pm.optim.adam(0.01), allow_split=False)


@pytest.mark.parametrize("name", MODELS)
def test_losses_and_gradients_are_pytorchs(device: pm.Device, name: str) -> None:
    recorded = _recorded(name)
    net = _loaded(name, recorded)
    batch = _batch(recorded)
    with pm.GradientTape() as tape:
        loss = net.loss(net(*batch[:-1]), batch[-1])
    assert float(loss) == pytest.approx(float(recorded["loss"]), rel=1e-5)
    gradients = tape.gradient(loss, net)
    found = {variable.name: tensor for variable, tensor in zip(gradients.variables, gradients.tensors)}
    for key, expected in recorded.items():
        if not key.startswith("d."):
            continue
        actual = found[key.removeprefix("d.")]
        values = np.zeros_like(expected) if actual is None else actual.numpy()
        # What is 0 but for rounding is measured by what is around.
        largest = max(float(np.abs(expected).max()), 0.01)
        assert np.abs(values - expected).max() <= 1e-4 * largest, key


@pytest.mark.parametrize("name", MODELS)
def test_losses_are_the_same_to_the_bit_within_three_budgets(device: pm.Device, name: str) -> None:
    recorded = _recorded(name)
    components = [value.numpy() for value in _batch(recorded)]
    copies = 1 if name == "gcn" else COPIES
    examples = [np.tile(each, (copies, *[1] * (each.ndim - 1))) for each in components]
    data = pm.data.from_tensor_slices(tuple(examples)).batch(len(examples[0]))

    def losses(budget: int | None) -> list[float]:
        trainer = _trainer(name, recorded)
        plan = trainer.plan(data, budget=budget)
        history = trainer.fit(data, epochs=4, plan=plan)
        assert history.planned_peak == history.measured_peak
        peaks.append(history.planned_peak)
        return list(history.losses)

    peaks: list[int] = []
    free = losses(None)
    smallest = _smallest_budget(name, recorded, data)
    whole = _trainer(name, recorded).plan(data).total
    assert losses(smallest) == free
    assert losses(smallest + (whole - smallest) // 8) == free
    assert len(set(free)) > 1 and free[-1] < free[0]
    if name not in ("vae", "gcn"):  # these have next to nothing to recompute
        assert peaks[1] < 0.95 * peaks[0], "some of it was computed again"
        assert peaks[1] <= peaks[2]


def test_components_without_a_batch_in_front_are_named(device: pm.Device) -> None:
    graph = [value[0] for value in _batch(_recorded("gcn"))]
    graphs = pm.data.from_generator(lambda: iter([tuple(graph)]), spec=[(each.dtype, each.shape) for each in graph])
    trainer = pm.Trainer(MODELS["gcn"](), loss="cross_entropy", optimizer=pm.optim.adam(0.01))
    with pytest.raises(pm.InvalidArgument, match=r"components 0 and 1 have 9 and 14 there; .*batch\(1\)"):
        trainer.plan(graphs)


def _smallest_budget(name: str, recorded: dict[str, np.ndarray[Any, Any]], data: pm.data.Dataset) -> int:
    with pytest.raises(pm.BudgetTooSmall) as refused:
        _trainer(name, recorded).plan(data, budget="1MiB")
    named = re.search(r"smallest budget for this batch: ([0-9]+)([KMG]iB)", str(refused.value))
    assert named, str(refused.value)
    return int(named[1]) << {"K": 10, "M": 20, "G": 30}[named[2][0]]
