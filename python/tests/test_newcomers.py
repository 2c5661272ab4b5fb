"""What people write who come from NumPy, PyTorch and Keras, with results compared with NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import plimsoll as pm
from plimsoll import nn

pytestmark = pytest.mark.usefixtures("device")


def test_none_alone_is_an_index() -> None:
    assert pm.zeros((2, 3))[None].shape == (1, 2, 3)
    assert pm.Variable(pm.zeros((2,)))[None].shape == (1, 2)


def test_integers_are_divided_as_python_divides_them() -> None:
    a = np.array([-7, 7, -8, 8, 0, -1])
    for b in (2, -2, 3, -3, 7):
        assert ((pm.tensor(a) // b).numpy() == a // b).all()
        assert ((pm.tensor(a) % b).numpy() == a % b).all()
    x = np.array([-1.5, 1.5, 2.25], np.float32)
    assert ((pm.tensor(x) % 1).numpy() == x % 1).all()
    assert (7 // pm.tensor([2, -2])).tolist() == [3, -4]
    assert (7 % pm.tensor([4, -4])).tolist() == [3, -1]
    assert (pm.tensor([5, 250], dtype="u8") // 2).tolist() == [2, 125]


def test_bools_are_counted() -> None:
    a = np.array([[True, False, True], [True, True, True]])
    x = pm.tensor(a)
    assert x.sum().item() == 5 and pm.sum(x, axis=1).tolist() == [2, 3]
    assert x.mean().item() == pytest.approx(5 / 6)
    assert pm.mean(x, axis=0).tolist() == [1.0, 0.5, 1.0]


def test_a_number_can_be_formatted() -> None:
    loss = pm.tensor(0.123456)
    assert f"{loss:.3f}" == "0.123" and f"{pm.tensor([7]):>3}" == "  7"
    assert f"{loss}" == str(loss)
    with pytest.raises(TypeError, match=r"\[format\] a tensor of shape \[2\].*x.mean"):
        f"{pm.zeros((2,)):.3f}"


def test_dimensions_are_flattened_and_swapped() -> None:
    a = np.arange(24).reshape(2, 3, 4)
    x = pm.tensor(a)
    assert x.flatten().shape == (24,) and pm.tensor(3).flatten().shape == (1,)
    assert (x.flatten(1).numpy() == a.reshape(2, 12)).all()
    assert (x.flatten(0, 1).numpy() == a.reshape(6, 4)).all()
    assert (x.swapaxes(-2, -1).numpy() == a.swapaxes(-2, -1)).all()
    with pytest.raises(pm.InvalidArgument, match=r"\[flatten\] start is 3 .*3 dimensions"):
        x.flatten(3)
    with pytest.raises(pm.InvalidArgument, match=r"\[transpose\].*2 axes.*3 dimensions.*swapaxes"):
        x.transpose(-2, -1)


def test_arithmetic_with_several_results_says_so() -> None:
    with pytest.raises(TypeError, match=r"one side is a tuple of 2 values.*y\[0\]"):
        (pm.zeros((2,)), pm.zeros((2,))) * pm.ones((2,))
    with pytest.raises(TypeError, match="one side is a list of 1 value;"):
        pm.ones((2,)) + [1.0]  # type: ignore[operator]


def test_a_tensor_where_an_integer_belongs_is_named() -> None:
    with pytest.raises(TypeError, match=r"\[scatter_add\] shape is a Tensor of shape \(2, 2\)"):
        pm.scatter_add(pm.ones((2, 2)), pm.tensor([0, 1]), pm.ones((2, 2)))  # type: ignore[arg-type]


def test_arrays_that_run_backwards_are_copied() -> None:
    a = np.arange(6).reshape(2, 3)
    assert (pm.tensor(a[::-1, ::-1]).numpy() == a[::-1, ::-1]).all()


def test_indices_are_followed_in_functions() -> None:
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    x, rows = pm.tensor(a), pm.tensor([2, 0])
    assert (pm.function(lambda x, rows: x[rows])(x, rows).numpy() == a[[2, 0]]).all()
    assert (pm.function(lambda x: x[[3, 1]])(x).numpy() == a[[3, 1]]).all()
    assert (pm.function(lambda x: x[:, ::-1])(x).numpy() == a[:, ::-1]).all()


@pytest.mark.parametrize("shape", [(64,), (64, 1), (4, 1, 4, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_accuracy_of_one_logit_for_each_target(shape: tuple[int, ...], dtype: type) -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(size=shape).astype(np.float32)
    targets = rng.integers(0, 2, shape)
    found = nn.accuracy(pm.tensor(logits), pm.tensor(targets.astype(dtype))).item()
    assert found == pytest.approx(((logits > 0) == targets).mean())


def test_accuracy_of_distributions_and_of_targets_that_do_not_fit() -> None:
    rng = np.random.default_rng(2)
    logits, targets = (rng.random((64, 5)).astype(np.float32) for _ in range(2))
    found = nn.accuracy(pm.tensor(logits), pm.tensor(targets)).item()
    assert found == pytest.approx((logits.argmax(1) == targets.argmax(1)).mean())
    column = pm.zeros((64, 1), dtype=pm.i64)
    with pytest.raises(pm.InvalidArgument, match=r"\[accuracy\].*f32 \[64,5\].*i64 \[64,1\]"):
        nn.accuracy(pm.tensor(logits), column)
    with pytest.raises(pm.InvalidArgument, match=r"\[top_k_accuracy\].*a label for each row"):
        nn.top_k_accuracy(pm.tensor(logits), column, 2)


def test_a_trainer_gives_the_accuracy_of_a_binary_classifier() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(128, 4)).astype(np.float32)
    y = (x[:, :1] > 0).astype(np.float32)
    data = pm.data.from_tensor_slices((x, y)).batch(32)
    trainer = pm.Trainer(nn.Dense(1), loss="binary_cross_entropy", metrics=["accuracy"])
    trainer.fit(data, epochs=1)
    right = ((trainer.predict(pm.from_numpy(x)).numpy() > 0) == (y > 0)).mean()
    assert trainer.evaluate(data)["accuracy"] == pytest.approx(right)


def test_gradients_can_be_changed_before_they_are_applied() -> None:
    w = pm.Variable(pm.tensor([3.0, 4.0]), name="w")
    unused = pm.Variable(pm.zeros((1,)), name="unused")
    with pm.GradientTape() as tape:
        loss = (w * w).sum() / 2
    gradients = tape.gradient(loss, [w, unused])
    assert repr(gradients) == "Gradients(of 2 variables: w, unused)"
    clipped, norm = pm.clip_by_global_norm(gradients, 1.0)
    assert norm.item() == pytest.approx(5) and clipped[1] is None
    pm.optim.sgd(1.0).apply(clipped)
    assert w.tolist() == pytest.approx([3 - 0.6, 4 - 0.8], abs=1e-5)
    halved = pm.Gradients([w], [gradients[0] * 0.5])
    pm.optim.sgd(1.0).apply(halved)
    assert w.tolist() == pytest.approx([0.9, 1.2], abs=1e-5)
    with pytest.raises(pm.InvalidArgument, match="1 variable and 0 tensors"):
        pm.Gradients([w], [])
    with pytest.raises(pm.InvalidArgument, match=r"gradient of 'w' is f32 \[3\]"):
        pm.Gradients([w], [pm.zeros((3,))])


def test_a_session_says_what_it_holds(device: pm.Device) -> None:
    with device.session("part", limit="8MiB") as session:
        kept = pm.zeros((1024, 256))
        assert session.used >= kept.nbytes and session.limit == 8 << 20
        assert "of 8 MiB used" in repr(session)
        peak = session.peak
    assert peak >= 1 << 20 and repr(session).endswith("closed)")


def test_memory_of_tensors_that_are_gone_is_there_for_training(device: pm.Device) -> None:
    device.budget.limit = "48MiB"
    x = np.ones((64, 64), np.float32)
    data = pm.data.from_tensor_slices((x, x)).batch(16)

    def fill() -> None:
        pm.zeros((44, 1 << 18))  # 44 MiB, and gone at once

    fill()
    history = pm.Trainer(nn.Dense(64), loss="mean_squared_error").fit(data, epochs=1)
    assert history.measured_peak <= 48 << 20
    fill()
    assert pm.function(lambda a: (a @ a).sum())(pm.ones((1024, 1024))).item() == pytest.approx(2.0**30)
    fill()
    with device.session("part", limit="24MiB"):
        pm.Trainer(nn.Dense(64), loss="mean_squared_error").fit(data, epochs=1)


def test_what_fits_in_one_line_is_shown_in_one() -> None:
    assert repr([pm.tensor(1), pm.tensor(2)]) == "[1  i64 [] on cpu:0, 2  i64 [] on cpu:0]"
    assert str(pm.arange(3)) == "[0 1 2]  i64 [3] on cpu:0"
    assert repr(pm.ones((2, 2))).count("\n") == 2
    net = nn.Sequential(nn.Dense(3), nn.ReLU())
    assert repr(net) == "Sequential()" and repr(net[1]) == "ReLU()"
    net(pm.ones((1, 4)))
    assert repr(net) == "Sequential(15 parameters)"
