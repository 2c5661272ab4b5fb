"""pm.function as people use it: methods, elements of datasets, modes, numbers that change."""

from __future__ import annotations

import dataclasses
import gc
import logging
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")


class Loop:
    def __init__(self, start: float) -> None:
        self.total = pm.Variable(pm.tensor(start), name="total")

    @pm.function
    def add(self, x: pm.Tensor, times: int = 1) -> pm.Tensor:
        self.total.assign(self.total + x.sum() * times)
        return self.total + 0


def test_a_method_belongs_to_its_object() -> None:
    first, second = Loop(0.0), Loop(10.0)
    assert [first.add(pm.ones((2,))).item() for _ in range(3)] == [2, 4, 6]
    assert second.add(pm.ones((2,)), times=2).item() == 14
    assert first.add(pm.ones((2,))).item() == 8
    assert (first.add.traces, second.add.traces) == (1, 1)
    assert "fits" in first.add.plan(pm.ones((2,)))


def test_an_object_goes_with_what_its_methods_traced() -> None:
    loop = Loop(0.0)
    loop.add(pm.ones((2,)))
    dead, variable = weakref.ref(loop), weakref.ref(loop.total)
    del loop
    gc.collect()
    assert dead() is None and variable() is None
    assert Loop(1.0).add(pm.ones((2,))).item() == 3


def test_a_method_of_an_object_without_weak_references_says_so() -> None:
    class Slots:
        __slots__ = ("value",)

        @pm.function
        def same(self, x: pm.Tensor) -> pm.Tensor:
            return x

    with pytest.raises(TypeError, match=r"\[function\] same is a method of Slots.*__weakref__"):
        Slots().same(pm.ones((1,)))


def test_a_module_is_in_training_or_not_as_it_is_when_called() -> None:
    drop = pm.nn.Dropout(0.5)
    forward = pm.function(lambda x: drop(x))
    x = pm.ones((64,))
    assert 0 in forward(x).tolist()
    drop.eval()
    assert forward(x).tolist() == [1.0] * 64
    drop.train()
    assert 0 in forward(x).tolist()
    assert forward.traces == 2, "each mode is traced once"


def test_a_function_that_sets_the_mode_itself_is_traced_once() -> None:
    drop = pm.nn.Dropout(0.5)

    @pm.function
    def evaluate(x: pm.Tensor) -> pm.Tensor:
        drop.eval()
        y: pm.Tensor = drop(x)
        drop.train()
        return y

    for _ in range(3):
        assert evaluate(pm.ones((8,))).tolist() == [1.0] * 8
    assert evaluate.traces == 1


def test_what_is_frozen_after_a_step_stays_as_it_is() -> None:
    net = pm.nn.Sequential(pm.nn.Dense(4), pm.nn.Tanh(), pm.nn.Dense(2))
    optimizer = pm.optim.sgd(0.1)

    @pm.function
    def step(x: pm.Tensor) -> pm.Tensor:
        with pm.GradientTape() as tape:
            loss: pm.Tensor = pm.mean(net(x) ** 2)
        optimizer.apply(tape.gradient(loss, net))
        return loss

    def weights() -> list[Any]:
        return [np.array(each.numpy()) for each in net.parameters()]

    x = pm.random_normal((8, 3))
    step(x)
    net[0].freeze()
    before = weights()
    step(x)
    assert [bool((a == b).all()) for a, b in zip(before, weights())] == [True, True, False, False]
    net[0].freeze(False)
    before = weights()
    step(x)
    assert not any((a == b).all() for a, b in zip(before, weights()))
    assert step.traces == 2


def test_elements_with_names_are_arguments_and_results() -> None:
    rows = pm.data.from_tensor_slices({"image": np.ones((6, 2), np.float32), "label": np.arange(6)}).batch(2)

    @pm.function
    def step(batch: Any) -> Any:
        return batch["image"].sum() + batch["label"].to(pm.f32).sum(), batch

    totals = []
    for _ in range(2):
        for batch in rows:
            total, same = step(batch)
            totals.append(total.item())
            assert same["label"].tolist() == batch["label"].tolist()
    assert totals == [5, 9, 13] * 2
    assert step.traces == 1


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass(frozen=True)
class Output:
    logits: Any
    loss: Any
    name: str = "train"


def test_tuples_with_names_and_dataclasses_keep_their_types() -> None:
    @pm.function
    def f(pair: Pair) -> Output:
        return Output(pair.a + pair.b, [pair.a.sum()], "test")

    made = f(Pair(pm.ones((2,)), pm.ones((2,))))
    assert isinstance(made, Output) and made.name == "test"
    assert made.logits.tolist() == [2, 2] and made.loss[0].item() == 2
    f(Pair(pm.ones((2,)), pm.zeros((2,))))
    assert f.traces == 1


def test_gradients_go_in_and_out() -> None:
    net, optimizer = pm.nn.Sequential(pm.nn.Dense(1, bias=False)), pm.optim.sgd(1.0)
    x = pm.ones((4, 2))

    @pm.function
    def gradients(x: pm.Tensor) -> pm.Gradients:
        with pm.GradientTape() as tape:
            loss = pm.sum(net(x))
        found: pm.Gradients = tape.gradient(loss, net)
        return found

    @pm.function
    def added(a: pm.Gradients, b: pm.Gradients) -> pm.Gradients:
        return pm.Gradients(a.variables, [p + q for p, q in zip(a.tensors, b.tensors) if p is not None and q is not None])

    net(x)
    before = net.parameters()[0].numpy().copy()
    for times in range(1, 3):
        total = gradients(x)
        for _ in range(2):
            total = added(total, gradients(x))
        optimizer.apply(total)
        np.testing.assert_allclose(net.parameters()[0].numpy(), before - 12 * times, rtol=1e-5)
    assert (gradients.traces, added.traces) == (1, 1)
    other = pm.nn.Sequential(pm.nn.Dense(1, bias=False))
    other(x)
    with pm.GradientTape() as tape:
        loss = pm.sum(other(x))
    of_other = tape.gradient(loss, other)
    assert added(of_other, of_other).of(other.parameters()[0]) is not None, "names alone are not enough"


def test_results_that_are_not_tensors_belong_to_the_shapes_they_were_made_for() -> None:
    @pm.function
    def f(x: pm.Tensor) -> Any:
        return x.sum(), x.shape[0], [x] * x.shape[0]

    for count in (3, 2, 3, 2):
        total, rows, copies = f(pm.ones((count, 2)))
        assert (total.item(), rows, len(copies)) == (count * 2, count, count)


def test_true_and_one_and_a_float_are_different_arguments() -> None:
    @pm.function
    def f(x: pm.Tensor, value: Any) -> Any:
        return x, f"{value!r}"

    x = pm.arange(2)
    assert [f(x, value)[1] for value in (1, True, 1.0, 1, 0.0, -0.0)] == ["1", "True", "1.0", "1", "0.0", "-0.0"]


def test_a_number_that_changes_is_told_to_be_a_tensor(caplog: pytest.LogCaptureFixture) -> None:
    runs = []

    @pm.function
    def step(x: pm.Tensor, *, beta: float) -> pm.Tensor:
        runs.append(beta)
        return x * beta

    with caplog.at_level(logging.WARNING, "plimsoll"):
        for i in range(30):
            assert step(pm.ones((1,)), beta=i / 10).item() == pytest.approx(i / 10)
    said = [each.getMessage() for each in caplog.records]
    assert any("[step]" in text and "beta is 0.4 (a float), before 0.3" in text and "pm.tensor" in text for text in said), said
    assert step.traces == 30
    assert len(step._traces.planned) == 8, "no more are kept than signatures="
    caplog.clear()

    @pm.function
    def better(x: pm.Tensor, beta: pm.Tensor) -> pm.Tensor:
        return x * beta

    for i in range(30):
        better(pm.ones((1,)), pm.tensor(i / 10))
    assert better.traces == 1 and not caplog.records


@pytest.mark.parametrize(
    "arguments, named, words",
    [
        ((np.ones(2, np.float32),), {}, ["x of f() is", "pm.tensor"]),
        ((pm.f32,), {"batch": {"a": [1, {2, 3}]}}, ["batch['a'][1] of f() is {2, 3} (a set)", "parts"]),
    ],
)
def test_an_argument_that_cannot_be_compared_is_named(arguments: Any, named: Any, words: list[str]) -> None:
    @pm.function
    def f(x: Any, batch: Any = None) -> Any:
        return pm.ones((1,))

    with pytest.raises(TypeError) as caught:
        f(*arguments, **named)
    for word in ["[function]", *words]:
        assert word in str(caught.value), caught.value


def test_modules_and_ops_are_functions_as_well() -> None:
    net, x = pm.nn.Sequential(pm.nn.Dense(3), pm.nn.Dropout(0.5)), pm.ones((2, 4))
    net.eval()
    planned = pm.function(net)
    assert planned(x).tolist() == net(x).tolist()
    net.train()
    assert (planned(x) == 0).any().item()  # traced again, with dropout
    assert pm.function(net.__call__)(x).shape == (2, 3)
    assert pm.function(pm.relu)(-x).tolist() == pm.zeros((2, 4)).tolist()
    with pytest.raises(TypeError, match=r"\[Sequential\] there is no argument scale"):
        planned(x, scale=x)  # type: ignore[call-arg, unused-ignore]


def test_functions_that_give_results_later_are_refused() -> None:
    def rows(x: pm.Tensor) -> Any:
        yield x

    async def later(x: pm.Tensor) -> pm.Tensor:
        return x

    for f in (rows, later):
        with pytest.raises(TypeError, match=rf"\[function\] {f.__name__} gives its results later .*must return them"):
            pm.function(f)
