"""What programs of newcomers ran into: NumPy's functions, named elements, several outputs, second derivatives."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")


def test_functions_of_numpy_take_tensors() -> None:
    x = pm.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.sum(x) == 10
    assert np.mean(x, axis=0).tolist() == [2, 3]
    assert np.stack([x, x + 1]).shape == (2, 2, 2)
    assert np.concatenate([x, np.zeros((1, 2), np.float32)]).tolist() == [[1, 2], [3, 4], [0, 0]]
    assert np.allclose(pm.Variable(x), x)


def test_vectors_are_multiplied_as_numpy_multiplies_them() -> None:
    rng = np.random.default_rng(3)
    shapes = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((3, 4), (4, 5))]
    for left, right in shapes:
        a, b = rng.normal(size=left).astype(np.float32), rng.normal(size=right).astype(np.float32)
        x, y = pm.tensor(a), pm.tensor(b)
        made = x @ y
        assert made.shape == np.matmul(a, b).shape, (left, right)
        np.testing.assert_allclose(made.numpy(), np.matmul(a, b), rtol=1e-5, atol=1e-6)
        with pm.GradientTape() as tape:
            tape.watch([x, y])
            total = pm.sum((x @ y) * (x @ y))
        dx, dy = tape.gradient(total, [x, y])
        assert (dx.shape, dy.shape) == (left, right)
        delta = np.zeros(left)
        delta[(0,) * len(left)] = 1e-5
        moved = [np.sum(np.matmul(a.astype(np.float64) + s * delta, b.astype(np.float64)) ** 2) for s in (1, -1)]
        assert dx[(0,) * len(left)].item() == pytest.approx((moved[0] - moved[1]) / 2e-5, rel=1e-3, abs=1e-3)
    with pytest.raises(ValueError, match="two dimensions"):
        pm.ones((3,)) @ pm.tensor(2.0)


def test_powers_have_second_derivatives() -> None:
    x, p = pm.tensor([0.5, 1.5, 2.0]), pm.tensor([2.0, 3.0, 0.5])
    with pm.GradientTape() as outer:
        outer.watch([x, p])
        with pm.GradientTape() as inner:
            inner.watch(x)
            total = pm.sum(x**p)
        slope = inner.gradient(total, x)
        seen = pm.sum(slope * slope)
    dx, dp = outer.gradient(seen, [x, p])
    a, b = x.numpy().astype(np.float64), p.numpy().astype(np.float64)

    def at(a: Any, b: Any) -> Any:
        return np.sum((b * a ** (b - 1)) ** 2)

    for i in range(3):
        step = np.eye(3)[i] * 1e-6
        assert dx[i].item() == pytest.approx((at(a + step, b) - at(a - step, b)) / 2e-6, rel=1e-3)
        assert dp[i].item() == pytest.approx((at(a, b + step) - at(a, b - step)) / 2e-6, rel=1e-3)


def test_a_gradient_penalty_trains() -> None:
    critic, optimizer = pm.nn.Sequential(pm.nn.Dense(16), pm.nn.Tanh(), pm.nn.Dense(1)), pm.optim.adam(1e-2)
    x = pm.random_normal((8, 3))

    @pm.function
    def step(x: pm.Tensor) -> pm.Tensor:
        with pm.GradientTape() as tape:
            with pm.GradientTape() as inner:
                inner.watch(x)
                score = pm.sum(critic(x))
            penalty = ((pm.norm(inner.gradient(score, x), axis=-1) - 1) ** 2).mean()
        optimizer.apply(tape.gradient(penalty, critic))
        return penalty

    losses = [step(x).item() for _ in range(60)]
    assert losses[-1] < 0.1 * losses[0], losses


def test_generators_of_dicts_give_named_components() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        for i in range(5):
            yield {"label": i, "x": [float(i), 1.0]}

    with pytest.raises(ValueError, match="spec="):
        list(pm.data.from_generator(rows))

    data = pm.data.from_generator(rows, spec={"x": (pm.f32, (2,)), "label": pm.i64})
    assert data.names == ["x", "label"]
    batch = next(iter(data.batch(5)))
    assert batch["label"].tolist() == [0, 1, 2, 3, 4] and batch["x"].shape == (5, 2)
    twice = data.map(lambda x, label: {"x": x * 2, "label": label}, python=True, spec={"x": (pm.f32, (2,)), "label": pm.i64})
    assert [each["x"].tolist() for each in twice][3] == [6, 2]
    wrong = pm.data.from_generator(rows, spec={"x": (pm.f32, (2,)), "y": pm.i64})
    with pytest.raises(ValueError, match=r"label, x.*spec states x, y"):
        list(wrong)


def test_a_dtype_alone_is_the_spec_of_a_number() -> None:
    data = pm.data.from_generator(lambda: iter([(np.ones(2, np.float32), 3)]), spec=[(pm.f32, (2,)), pm.i64])
    assert data.element_spec == [(pm.f32, (2,)), (pm.i64, ())]
    assert next(iter(data))[1] == 3


class TwoHeads(pm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = pm.nn.Dense(3), pm.nn.Dense(1)

    def forward(self, x: pm.Tensor) -> Any:
        return self.first(x), self.second(x)


def test_several_outputs_are_predicted_for_a_dataset() -> None:
    x = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
    trainer = pm.Trainer(TwoHeads())
    first, second = trainer.predict(pm.data.from_tensor_slices(x).batch(4))
    assert (first.shape, second.shape) == ((10, 3), (10, 1))
    for made, whole in zip((first, second), trainer.predict(x)):
        np.testing.assert_allclose(made.numpy(), whole.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", ["cross_entropy_dense", "smooth_l1"])
def test_losses_of_the_documentation_have_their_names(loss: str) -> None:
    targets = np.eye(3, dtype=np.float32)[np.arange(8) % 3]
    data = pm.data.from_tensor_slices((np.ones((8, 4), np.float32), targets)).batch(4)
    assert pm.Trainer(pm.nn.Sequential(pm.nn.Dense(3)), loss=loss).fit(data, epochs=1)["loss"][0] > 0


def test_a_history_is_looked_at_like_a_dict() -> None:
    data = pm.data.from_tensor_slices((np.ones((8, 4), np.float32), np.zeros(8, np.int64))).batch(4)
    history = pm.Trainer(pm.nn.Sequential(pm.nn.Dense(3)), loss="cross_entropy").fit(data, epochs=2)
    assert set(history) == set(history.keys()) == {"loss", "accuracy"}
    assert dict(history)["loss"] == history["loss"] and len(history["loss"]) == 2
    assert "loss" in history and "val_loss" not in history
    with pytest.raises(TypeError, match=r"\[History\].*name"):
        history[0]  # type: ignore[index]


def test_checkpoints_are_loaded_by_the_names_of_their_folder(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 4)).astype(np.float32)
    data = pm.data.from_tensor_slices((x, (x.sum(axis=1) > 0).astype(np.int64))).batch(16)

    def trainer() -> pm.Trainer:
        net = pm.nn.Sequential(pm.nn.Dense(8), pm.nn.Tanh(), pm.nn.Dense(2))
        return pm.Trainer(net, loss="cross_entropy", optimizer=pm.optim.sgd(pm.optim.Schedule.piecewise([12], [0.1, 20.0])))

    first = trainer()
    history = first.fit(data, data, epochs=4, checkpoints=tmp_path / "run", best="validation_loss")
    losses = history["validation_loss"]
    assert min(losses) < losses[-1]
    for name, loss in (("best", min(losses)), ("latest", losses[-1]), ("", losses[-1])):
        other = trainer()
        with pytest.raises(pm.DataError, match=r"build\(\) it first"):
            other.load(tmp_path / "run" / name)
        other.model.build((1, 4))
        other.load(tmp_path / "run" / name)
        assert other.evaluate(data)["loss"] == pytest.approx(loss, rel=1e-5), name


def test_a_trainer_that_has_not_trained_loads_what_another_saved(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)
    data = pm.data.from_tensor_slices((x, np.arange(16) % 3)).batch(8)

    def trainer() -> pm.Trainer:
        return pm.Trainer(pm.nn.Sequential(pm.nn.Dense(3)), loss="cross_entropy", optimizer=pm.optim.adam(0.1))

    first = trainer()
    with pytest.raises(ValueError, match=r"\[save\] the model has no parameters"):
        first.save(tmp_path / "model.safetensors")
    first.fit(data, epochs=2)
    first.save(tmp_path / "model.safetensors")
    second = trainer()
    second.model.build((1, 4))
    second.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(second.predict(x).numpy(), first.predict(x).numpy())
    assert second.optimizer.step == 4
    assert second.fit(data, epochs=1).losses == first.fit(data, epochs=1).losses, "it goes on with the optimizer's state"


def test_what_oneDNN_remembers_of_ever_new_shapes_is_bounded() -> None:
    """A product of another shape has 75 KiB of code that no budget is charged with."""

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    x = pm.ones((8, 16))
    for i in range(1, 801):
        x @ pm.ones((16, i))
    before = resident()
    for i in range(801, 1201):
        x @ pm.ones((16, i))
    assert resident() - before < 6 << 20


def test_padding_is_a_number_or_goes_by_name() -> None:
    rows = pm.data.from_generator(lambda: ({"ids": [1] * n, "n": n} for n in (3, 1)), spec={"ids": (pm.i64, (None,)), "n": pm.i64})
    ids = rows.map(lambda ids, n: ids)
    assert next(iter(ids.padded_batch(2, values=-1))).tolist() == [[1, 1, 1], [1, -1, -1]]
    batch = next(iter(rows.padded_batch(2, shapes={"ids": (4,), "n": ()}, values={"ids": 9, "n": 0})))
    assert batch["ids"].tolist() == [[1, 1, 1, 9], [1, 9, 9, 9]]
    with pytest.raises(ValueError, match="elements have ids, n"):
        rows.padded_batch(2, shapes={"x": (4,)})
    with pytest.raises(TypeError, match=r"\[padded_batch\] shapes has 4"):
        ids.padded_batch(2, shapes=[4])  # type: ignore[list-item]


def test_a_trainer_takes_the_seed_that_was_set() -> None:
    data = pm.data.from_tensor_slices((np.ones((8, 4), np.float32), np.zeros(8, np.int64))).batch(4)

    def loss(set_to: int, **options: Any) -> float:
        pm.set_seed(set_to)
        net = pm.nn.Sequential(pm.nn.Dense(3))
        return pm.Trainer(net, loss="cross_entropy", **options).fit(data, epochs=1)["loss"][0]

    try:
        assert loss(1) == loss(1) == loss(0, seed=1) != loss(2)
    finally:
        pm.set_seed(0)
