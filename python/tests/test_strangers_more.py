"""More of what programs ran into that were written from the documentation alone: data and training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")

pm_: Any = pm  # for calls that annotations would refuse
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
Y = np.arange(8) % 2


def batches(size: int = 4) -> pm.data.Dataset:
    return pm.data.from_tensor_slices((X, Y)).batch(size)


def trainer(**given: Any) -> pm.Trainer:
    return pm.Trainer(pm.nn.Dense(2), **{"loss": "cross_entropy", "optimizer": pm.optim.sgd(0.1), **given})


def test_columns_of_csv_may_be_named_alone(tmp_path: Path) -> None:
    path = tmp_path / "größe.csv"
    path.write_text("name,size,y\na,0.5,1\nb,1.5,0\n", encoding="utf-8")
    found = pm.data.csv(path, ["y", "name"])
    assert found.names == ["y", "name"] and list(found) == [(1, b"a"), (0, b"b")]
    with pytest.raises(pm.InvalidArgument, match=r"\[csv\] columns has 'z'; there are name, size, y"):
        pm.data.csv(path, ["z"])


def test_a_window_of_true_shuffles_nothing_and_is_refused() -> None:
    with pytest.raises(TypeError, match=r"\[shuffle\] window is True; shuffle\(\) shuffles the whole set"):
        batches().shuffle(True)


def test_what_feeds_other_libraries_says_what_it_is() -> None:
    assert repr(batches().to_numpy()) == "Dataset(2 elements, (f32 [4,3], i64 [4])).to_numpy()"


def test_a_sequence_larger_than_the_budget_is_refused_as_such(device: pm.Device) -> None:
    for name, given in (("arange", (10**15,)), ("linspace", (0, 1, 10**15)), ("eye", (10**7,))):
        with pytest.raises(pm.OutOfMemory):
            getattr(pm, name)(*given)


def test_a_batch_of_another_shape_says_how_to_give_all_the_same_shape() -> None:
    def rows() -> Iterator[Any]:
        for n in (3, 3, 5, 5):
            yield np.ones(n, np.float32), 0

    found = pm.data.from_generator(rows, spec=[(pm.f32, (None,)), pm.i64]).padded_batch(2)
    mean = pm.nn.Sequential(pm.nn.Lambda(lambda x: x.mean(axis=1, keepdims=True)), pm.nn.Dense(2))
    with pytest.raises(pm.InvalidArgument, match=r"a batch is \(f32 \[2,5\].* but the model wants \(f32 \[2,3\]"
                       r".*pad them to one shape, as padded_batch does with 'shapes'"):
        pm.Trainer(mean, loss="cross_entropy").fit(found, epochs=1)


@pytest.mark.parametrize("call, message", [
    (lambda: trainer().fit(batches()), r"\[fit\] neither epochs nor steps are given; give at least one of them"),
    (lambda: trainer().fit(batches(), epochs=-1), r"\[fit\] epochs is -1 and steps is 0; neither can be below 0"),
    (lambda: trainer().plan(), r"\[plan\] neither a dataset nor a batch is given"),
    (lambda: trainer(precision="fp16"), r"\"fp16\" is not a precision; use f32, tf32, bf16 or f16"),
    (lambda: trainer(metrics=["auc"]).fit(batches(), epochs=1),
     r"\[auc\] predictions have shape \[4,2\], targets \[4\]; it takes one logit for each target"),
    (lambda: pm.nn.Mean().update(pm.ones((2,))), r"the value is f32 \[2\]; a mean counts one f32 number at a time"),
])
def test_mistakes_in_training_are_told(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(pm.InvalidArgument, match=message):
        call()


@pytest.mark.parametrize("call, message", [
    (lambda: getattr(trainer(), "evaluate")(X, Y), r"\[evaluate\] dataset is .*; it must be a dataset: pm.data.from_tensor_slices"),
    (lambda: pm_.data.Dataset([1]), r"\[Dataset\] it cannot be made of \[1\]; pm.data.from_tensor_slices"),
    (lambda: getattr(batches(), "load_state_dict")(None), r"\[load_state_dict\] state is None; it must be the dict"),
    (lambda: pm_.function(lambda x: x)(), r"x is missing$"),
])
def test_wrong_types_are_told(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.filterwarnings("ignore:nanobind")
def test_a_module_that_was_not_initialised_says_so() -> None:
    class Net(pm.nn.Module):
        def __init__(self) -> None:
            pass

        def forward(self, x: pm.Tensor) -> Any:
            return x

    for name, given in (("__call__", (pm.ones((2,)),)), ("state_dict", ())):
        with pytest.raises(TypeError, match=r"was not initialised; call super\(\).__init__\(\) first"):
            getattr(Net(), name)(*given)
    with pytest.raises(TypeError, match=r"does not begin with super\(\).__init__\(\)"):
        repr(Net())


def test_the_rate_of_a_run_is_that_of_its_next_step_and_the_log_has_that_of_each(tmp_path: Path) -> None:
    seen = []

    class Look(pm.Callback):
        def on_step(self, run: pm.Run) -> None:
            seen.append(run.rate)

        def on_epoch(self, run: pm.Run) -> None:
            optimizer.rate_factor = 0.5

    optimizer = pm.optim.sgd(pm.optim.Schedule.custom(lambda step: 0.1 / (1 + step)))
    log = tmp_path / "run.jsonl"
    trainer(optimizer=optimizer).fit(batches(), epochs=2, callbacks=[Look()], log=log)
    assert seen == pytest.approx([0.1 / 2, 0.1 / 3, 0.5 * 0.1 / 4, 0.5 * 0.1 / 5])
    events = [json.loads(line) for line in log.read_text().splitlines()]
    rates = [each["lr"] for each in events if each["event"] == "step"]
    assert rates == pytest.approx([0.1, 0.1 / 2, 0.5 * 0.1 / 3, 0.5 * 0.1 / 4])
