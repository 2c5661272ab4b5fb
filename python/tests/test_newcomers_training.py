"""Data and training as people write them who come from PyTorch and Keras: what works, and what is said where it
does not."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import plimsoll as pm
from plimsoll import nn

pytestmark = pytest.mark.usefixtures("device")


class Heads(nn.Module):
    """Two results for one input."""

    def __init__(self) -> None:
        super().__init__()
        self.label, self.number = nn.Dense(3), nn.Dense(1)

    def forward(self, x: pm.Tensor) -> tuple[pm.Tensor, pm.Tensor]:
        return self.label(x), self.number(x)


def both(prediction: Any, target: Any) -> pm.Tensor:
    return nn.cross_entropy(prediction[0], target[0]) + nn.mean_squared_error(prediction[1], target[1])


def samples() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    return x, x[:, :3].argmax(1), x[:, :1]


def test_components_are_inputs_and_targets_by_their_place() -> None:
    x, labels, numbers = samples()
    data = pm.data.from_tensor_slices((x, labels, numbers)).batch(16)
    trainer = pm.Trainer(Heads(), loss=both, inputs=[0], targets=[1, 2])
    trainer.fit(data, epochs=1)
    assert [each.shape for each in trainer.predict(pm.tensor(x))] == [(64, 3), (64, 1)]
    with pytest.raises(TypeError, match="forward") as raised:
        pm.Trainer(Heads(), loss=both).fit(data, epochs=1)
    assert "elements have 3 components" in str(raised.value)
    assert "targets=[...]" in str(raised.value)


def test_early_stopping_says_how_it_is_given() -> None:
    x, labels, _ = samples()
    trainer = pm.Trainer(nn.Dense(3), loss="cross_entropy")
    data = pm.data.from_tensor_slices((x, labels)).batch(16)
    with pytest.raises(TypeError, match=r"\[fit\] early_stopping is \('loss', 3\).*patience="):
        trainer.fit(data, early_stopping=("loss", 3))  # type: ignore[arg-type]


def test_a_loop_of_ones_own_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    x, labels, _ = samples()

    def make() -> tuple[nn.Module, pm.optim.Optimizer]:
        pm.set_seed(1)
        return nn.Sequential(nn.Dense(8), nn.Tanh(), nn.Dense(3)), pm.optim.adam(1e-2)

    def steps(net: nn.Module, optimizer: pm.optim.Optimizer, count: int) -> list[float]:
        losses = []
        for _ in range(count):
            with pm.GradientTape() as tape:
                loss = nn.cross_entropy(net(pm.tensor(x)), pm.tensor(labels))
            optimizer.apply(tape.gradient(loss, net))
            losses.append(loss.item())
        return losses

    whole = steps(*make(), 6)
    net, optimizer = make()
    parts = steps(net, optimizer, 3)
    path = tmp_path / "run.safetensors"
    pm.train.save_checkpoint(path, net, optimizer, metadata={"epoch": "3"})
    net, optimizer = make()
    net.build((1, 4))
    assert pm.train.load_checkpoint(path, net, optimizer)["epoch"] == "3"
    assert parts + steps(net, optimizer, 3) == whole
    other, _ = make()
    other.build((1, 4))
    with pytest.raises(pm.InvalidArgument, match="also has that of an optimizer.*strict=False.*load_checkpoint"):
        other.load_state_dict(pm.load_safetensors(path))
    pm.train.load_checkpoint(path, other, strict=False)
    with pytest.raises(TypeError, match=r"\[load_checkpoint\] optimizer is 'adam'"):
        pm.train.load_checkpoint(path, other, "adam")  # type: ignore[arg-type]


@pytest.mark.parametrize("operation", [pickle.dumps, copy.deepcopy])
def test_what_cannot_be_pickled_says_what_to_do(operation: Callable[[Any], Any]) -> None:
    cases = [
        (nn.Dense(3), r"a module.*load_state_dict"), (Heads(), "a module"),
        (pm.optim.adam(1e-3), "save_checkpoint"), (pm.optim.Schedule.cosine(0.1, 10), "a schedule"),
        (pm.data.range(3), r"a dataset.*state_dict\(\)"),
    ]
    for value, words in cases:
        with pytest.raises(TypeError, match=rf"\[pickle\] {words}|\[pickle\].*{words}"):
            operation(value)


def test_threads_that_begin_a_loop_at_once_get_all_elements() -> None:
    numbers = pm.data.range(200).batch(10)
    with ThreadPoolExecutor(4) as threads:
        for _ in range(10):
            sums = list(threads.map(lambda _: sum(int(batch.sum()) for batch in numbers), range(4)))
            assert sums == [19900] * 4


def test_components_cannot_be_nested() -> None:
    x, labels, numbers = samples()
    for nested in ((x, numbers), [x, numbers], {"x": x}):
        with pytest.raises(TypeError, match=r"\[from_tensor_slices\].*cannot be nested; give all in one tuple"):
            pm.data.from_tensor_slices((nested, labels))
    assert list(pm.data.from_tensor_slices(((1, 2), [np.float32(3), np.float32(4)]))) == [(1, 3.0), (2, 4.0)]


def test_zip_takes_a_list_as_well() -> None:
    a, b = pm.data.range(3), pm.data.range(3, 6)
    assert list(pm.data.zip((a, b))) == list(pm.data.zip(a, b)) == [(0, 3), (1, 4), (2, 5)]


def test_a_function_of_too_few_components_is_told_what_there_are() -> None:
    pairs = pm.data.from_tensor_slices({"x": np.zeros((2, 3), np.float32), "y": np.arange(2)})
    with pytest.raises(TypeError, match=r"\[map\].*the 2 components.*x f32 \[3\], y i64 \[\].*takes 1 positional"):
        pairs.map(lambda x: x)


def test_elements_are_held_against_their_spec() -> None:
    def rows() -> Any:
        return iter([np.zeros(4, np.float32)])

    assert len(list(pm.data.from_generator(rows, spec=[(pm.f32, (None,))]))) == 1
    makers: list[Callable[[Any], pm.data.Dataset]] = [
        lambda spec: pm.data.from_generator(rows, spec=spec),
        lambda spec: pm.data.from_indexable(list(rows()), spec=spec),
        lambda spec: pm.data.range(1).map(lambda i: np.zeros(4, np.float32), python=True, spec=spec),
    ]
    for make in makers:
        with pytest.raises(pm.DataError, match=r"is f32 \[4\], and spec states f32 \[3\]; None"):
            list(make([(pm.f32, (3,))]))
        with pytest.raises(pm.DataError, match="1 component, and spec states 2 components"):
            list(make([(pm.f32, (4,)), (pm.i64, ())]))


def test_names_of_others_are_answered_with_ours() -> None:
    x = pm.zeros((2, 3))
    cases = [
        (pm, "cat", "use pm.concat"), (pm, "float32", "use pm.f32"), (pm.nn, "Linear", "use pm.nn.Dense"),
        (pm.nn, "Conv2d", "use pm.nn.Conv2D"), (pm.optim, "Adam", "use pm.optim.adam"),
        (pm.data, "DataLoader", "batch"), (x, "unsqueeze", "pm.expand_dims"), (x, "exp", r"use pm.exp\(x\)"),
        (x, "backward", "pm.GradientTape"), (nn.Parameter((2,)), "detach", "'Parameter'.*pm.stop_gradient"),
    ]
    for owner, name, words in cases:
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'|'Parameter'") as raised:
            getattr(owner, name)
        raised.match(words)
    with pytest.raises(AttributeError, match="module 'plimsoll' has no attribute 'nonsense'$"):
        getattr(pm, "nonsense")
    assert "Any" not in dir(pm.data) and "range" in dir(pm.data)  # what completion shows
    assert not hasattr(x, "nonsense") and not hasattr(x, "__array_struct__")


def test_dimensions_of_one_come_and_go() -> None:
    x = pm.ones((2, 1, 3))
    assert pm.squeeze(x).shape == pm.squeeze(x, 1).shape == pm.squeeze(x, -2).shape == (2, 3)
    assert pm.expand_dims(x, 0).shape == (1, 2, 1, 3) and pm.expand_dims(x, -1).shape == (2, 1, 3, 1)
    with pytest.raises(pm.InvalidArgument, match=r"\[squeeze\] dimension 0 has 2 elements"):
        pm.squeeze(x, 0)
    with pytest.raises(pm.InvalidArgument, match=r"\[expand_dims\] axis is 4, and x has 3 dimensions"):
        pm.expand_dims(x, 4)
    rows = pm.data.from_tensor_slices(np.zeros((2, 1, 4), np.float32))
    assert next(iter(rows.map(lambda x: pm.expand_dims(pm.squeeze(x), 1)))).shape == (4, 1)


def test_the_smallest_and_the_logarithm_of_a_sum() -> None:
    a = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    x = pm.Variable(pm.tensor(a))
    assert (pm.argmin(x).numpy() == a.argmin(-1)).all() and (pm.argmin(x, 0).numpy() == a.argmin(0)).all()
    assert pm.argmin(pm.tensor([3, 0, 255], dtype="u8")).item() == 1
    with pm.GradientTape() as tape:
        total = pm.logsumexp(x * 100, axis=1)
    expected = 100 * a.max(1)
    assert np.allclose(total.numpy(), expected, rtol=1e-4)
    gradient = tape.gradient(total, x)
    assert gradient.numpy().sum() == pytest.approx(300, rel=1e-4)
    assert pm.logsumexp(x).item() == pytest.approx(float(np.log(np.exp(a).sum())), rel=1e-5)
    assert pm.logsumexp(pm.full((2,), float("-inf"))).item() == float("-inf")
    assert pm.logsumexp(pm.zeros((2, 0)), axis=1).tolist() == [float("-inf")] * 2


def test_components_are_found_by_name() -> None:
    rows = pm.data.from_tensor_slices({"image": np.arange(6).reshape(3, 2), "label": np.arange(3)})
    for batch in (next(iter(rows.batch(3))), next(rows.batch(3).iterate()), next(iter(rows.batch(3).to_numpy()))):
        assert batch["image"].tolist() == batch[0].tolist() == [[0, 1], [2, 3], [4, 5]]
        image, label = batch
        assert len(batch) == 2 and label.tolist() == batch["label"].tolist()
        assert isinstance(batch, tuple)
    with rows.iterate() as pipeline:
        assert [row["label"] for row in pipeline] == [0, 1, 2]
    with pytest.raises(KeyError, match="there is no component 'lable'; there are: image, label"):
        next(iter(rows))["lable"]
    renamed = rows.map(lambda image, label: {"x": image * 2, "y": label})
    assert next(iter(renamed))["x"].tolist() == [0, 2]
    both = next(iter(pm.data.zip(rows, pm.data.range(3))))
    assert both["label"] == both["0/label"] == 0
    assert type(pickle.loads(pickle.dumps(next(iter(rows))))) is tuple
    assert type(next(iter(pm.data.from_tensor_slices((np.arange(3), np.arange(3)))))) is tuple


def test_functions_of_the_wrong_arguments_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"\[Trainer\] loss is a function of \(prediction, target\), and .*\(p\) cannot"):
        pm.Trainer(nn.Dense(3), loss=lambda p: p.mean())
    with pytest.raises(TypeError, match=r"\[Metric\] sums is a function of \(prediction, target\)"):
        pm.Metric("m", lambda p: p)  # type: ignore[arg-type, misc]
    with pytest.raises(TypeError, match=r"\[Metric\] result is a function of the list of totals"):
        pm.Metric("m", lambda p, t: p, lambda a, b: a)  # type: ignore[arg-type, misc]
    pm.Trainer(nn.Dense(3), loss=nn.cross_entropy)
