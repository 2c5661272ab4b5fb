"""Variables, tapes, functions, modules, optimizers."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")


class Net(pm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = pm.nn.Dense(16)
        self.second = pm.nn.Dense(3)
        self.scale = pm.nn.Parameter((3,), init="ones")
        self.calls = 0
        self.note: str | None = None

    def forward(self, x: pm.Tensor) -> pm.Tensor:
        self.calls += 1
        result: pm.Tensor = self.second(pm.relu(self.first(x))) * self.scale
        return result


def test_gradients_of_variables_and_watched_tensors() -> None:
    w = pm.Variable([2.0, 3.0], name="w")
    x = pm.tensor([4.0, 5.0])
    with pm.GradientTape() as tape:
        tape.watch(x)
        loss = pm.sum(w * x + w[0] * 10)
    by_w, by_x = tape.gradient(loss, [w, x])
    assert by_w.tolist() == [24.0, 5.0]
    assert by_x.tolist() == [2.0, 3.0]


def test_a_gradient_is_none_where_the_loss_does_not_depend_on_it() -> None:
    w = pm.Variable([1.0], name="w")
    with pm.GradientTape() as tape:
        loss = pm.sum(pm.Variable([2.0], name="v") * 2)
    assert tape.gradient(loss, w) is None


def test_a_variable_is_assigned_in_place() -> None:
    w = pm.Variable(pm.zeros((2,)), name="w")
    w.assign([1.0, 2.0])
    assert w.tolist() == [1.0, 2.0]
    assert (w + 1).tolist() == [2.0, 3.0]
    assert w.shape == (2,)


def test_modules_and_parameters_are_found_by_assignment() -> None:
    net = Net()
    names = [p.name for p in net.parameters()]
    assert names == ["scale"], "what comes into layers is not known yet"
    net.build((1, 4))
    assert {p.name for p in net.parameters()} == {
        "first.weight", "first.bias", "second.weight", "second.bias", "scale",
    }
    assert net.parameter_count == 4 * 16 + 16 + 16 * 3 + 3 + 3
    assert net(pm.ones((2, 4))).shape == (2, 3)
    assert isinstance(net.scale, pm.nn.Parameter)


def test_a_step_of_an_optimizer_lowers_the_loss() -> None:
    net, optimizer = Net(), pm.optim.adam(1e-2)
    x, labels = pm.random_normal((8, 4)), pm.tensor([0, 1, 2, 0, 1, 2, 0, 1])
    losses = []
    for _ in range(20):
        with pm.GradientTape() as tape:
            loss = pm.nn.cross_entropy(net(x), labels)
        optimizer.apply(tape.gradient(loss, net))
        losses.append(loss.item())
    assert losses[-1] < losses[0] * 0.9
    assert optimizer.step == 20


def test_a_function_is_traced_once_per_signature() -> None:
    net, optimizer = Net(), pm.optim.sgd(0.1)
    ran = []

    @pm.function
    def step(x: pm.Tensor, y: pm.Tensor) -> dict[str, pm.Tensor]:
        ran.append(x.shape)
        with pm.GradientTape() as tape:
            loss = pm.nn.cross_entropy(net(x), y)
        optimizer.apply(tape.gradient(loss, net))
        return {"loss": loss}

    x, y = pm.random_normal((6, 4)), pm.tensor([0, 1, 2, 0, 1, 2])
    losses = [step(x, y)["loss"].item() for _ in range(10)]
    assert losses[-1] < losses[0]
    assert ran == [(6, 4)], "Python runs once per trace"
    step(x[:3], y[:3])
    assert ran == [(6, 4), (3, 4)]
    assert step.traces == 2
    assert "fits" in step.plan(x, y)


def test_what_a_function_returns_keeps_its_structure() -> None:
    @pm.function
    def pair(x: pm.Tensor, times: int) -> tuple[pm.Tensor, list[pm.Tensor], str]:
        return x * times, [x + 1], "text"

    twice, more, text = pair(pm.ones((2,)), 2)
    assert (twice.tolist(), more[0].tolist(), text) == ([2.0, 2.0], [2.0, 2.0], "text")
    assert pair(pm.ones((2,)), 3)[0].tolist() == [3.0, 3.0]


def test_an_exception_in_a_module_is_the_one_that_was_raised() -> None:
    class Broken(pm.nn.Module):
        def forward(self, x: pm.Tensor) -> pm.Tensor:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        Broken()(pm.ones((1,)))
    assert caught.traceback[-1].name == "forward"


def test_sequential_holds_modules_of_both_kinds() -> None:
    net = pm.nn.Sequential(pm.nn.Dense(8), pm.nn.Lambda(lambda x: pm.tanh(x)), Net())
    assert net(pm.ones((2, 5))).shape == (2, 3)
    assert len(net) == 3
    assert {p.name.split(".")[0] for p in net.parameters()} == {"0", "2"}
    body = pm.nn.Residual(pm.nn.Dense(5))
    assert body(pm.ones((2, 5))).shape == (2, 5)


def test_modules_that_are_dropped_are_collected() -> None:
    net = Net()
    net.names = {"me": net}  # a cycle
    dead = weakref.ref(net)
    net(pm.ones((2, 4)))
    del net
    gc.collect()
    assert dead() is None


def test_models_come_by_name() -> None:
    assert "resnet18" in pm.nn.list_models()
    model = pm.nn.make_model("lenet", size=8)
    assert model(pm.ones((2, 1, 8, 8))).shape == (2, 10)


def test_a_recommender_learns_by_the_rows_that_it_reads() -> None:
    model = pm.nn.dlrm(dense=2, tables=3, rows=10, features=4, bag=2, bottom=(6,), top=(5,))
    batch = pm.tensor([[3, 0, 1, 2, 4, 4, 9, 0], [0, 9, 0, 0, 0, 0, 0, 0]])
    labels = pm.tensor([1.0, 0.0])
    optimizer = pm.optim.lazy_adam(0.05)

    @pm.function
    def step(x: pm.Tensor, y: pm.Tensor) -> pm.Tensor:
        with pm.GradientTape() as tape:
            loss = pm.nn.binary_cross_entropy(model(x), y)
        optimizer.apply(tape.gradient(loss, model))
        return loss

    losses = [step(batch, labels).item() for _ in range(30)]
    assert losses[-1] < losses[0] / 2
    with pytest.raises(ValueError, match="tables is 0"):
        pm.nn.dlrm(tables=0)


def test_schedules_give_the_rate_of_a_step() -> None:
    assert pm.optim.Schedule.cosine(0.1, 100).at(100) == 0
    assert pm.optim.Schedule.step(1.0, 10).warm_up(5).at(0) == pytest.approx(0.2)
    optimizer = pm.optim.sgd(pm.optim.Schedule.custom(lambda step: 1.0 / (1 + step), "inverse"))
    assert optimizer.rate == 1.0
    assert "inverse" in repr(optimizer)


def test_safetensors_go_to_and_from_dicts(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    pm.save_safetensors(path, {"w": pm.ones((2, 3)), "b": pm.arange(3)}, metadata={"note": "mine"})
    read = pm.load_safetensors(path)
    assert sorted(read) == ["b", "w"]
    assert read["b"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(read["w"].numpy(), np.ones((2, 3)))


def test_scan_runs_a_function_step_by_step() -> None:
    rows = pm.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def step(total: pm.Tensor, row: pm.Tensor) -> tuple[pm.Tensor, pm.Tensor]:
        return total + row, total * row

    found = pm.scan(step, pm.zeros((2,)), rows)
    assert found.last.tolist() == [9, 12]
    assert found.states.tolist() == [[1, 2], [4, 6], [9, 12]]
    assert found.ys.tolist() == [[0, 0], [3, 8], [20, 36]]
    back = pm.scan(lambda s, x: ([s[0] + x], None), [pm.zeros((2,))], rows, reverse=True)
    assert back.states[0].tolist() == [[9, 12], [8, 10], [5, 6]] and back.ys is None
    doubled = pm.scan(lambda s, x, by: (s * by, None), pm.ones((2,)), None, pm.full((2,), 2.0), steps=5)
    assert doubled.last.tolist() == [32, 32]


def test_scan_has_gradients_by_everything_it_reads() -> None:
    scale = pm.nn.Parameter((3,), init="ones")
    net = pm.nn.Module()
    net.scale = scale
    x = pm.random_normal((4, 3))
    with pm.GradientTape() as tape:
        tape.watch(x)
        loss = pm.sum(pm.scan(lambda s, row: (s + row * scale, None), pm.zeros((3,)), x).last)
    by_scale = tape.gradient(loss, scale)
    np.testing.assert_allclose(by_scale.numpy(), x.numpy().sum(0), rtol=1e-5)


def test_scan_says_what_is_wrong_with_a_step() -> None:
    with pytest.raises(TypeError, match=r"\[scan\] f must return \(states, ys\)"):
        pm.scan(lambda s, x: s, pm.zeros((2,)), pm.ones((3, 2)))
    with pytest.raises(ValueError, match="state 0"):
        pm.scan(lambda s, x: (pm.sum(s), None), pm.zeros((2,)), pm.ones((3, 2)))


class Two(pm.nn.Module):
    """A module in Python with one of C++ and one of Python within it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = Net()
        self.norm = pm.nn.BatchNorm()

    def forward(self, x: pm.Tensor) -> pm.Tensor:
        return self.net(pm.reshape(self.norm(pm.reshape(x, (-1, 4, 1, 1))), (-1, 4)))  # type: ignore[no-any-return]


def test_names_are_those_of_the_module_that_is_asked() -> None:
    two = Two()
    two.build((1, 4))
    names = [name for name, _ in two.named_parameters()]
    assert sorted(names) == sorted(p.name for p in two.parameters())
    assert {"net.first.weight", "net.scale", "norm.bias"} <= set(names)
    inner = dict(two.net.named_parameters())
    assert {"first.weight", "first.bias", "second.weight", "second.bias", "scale"} == set(inner)
    assert inner["first.weight"].name == "net.first.weight"
    assert [name for name, _ in two.named_buffers()] == ["norm." + n for n, _ in two.norm.named_buffers()]
    assert two.named_buffers()


def test_modules_within_are_the_objects_that_were_assigned() -> None:
    two = Two()
    assert two.children() == [two.net, two.norm]
    assert two.named_children() == [("net", two.net), ("norm", two.norm)]
    named = dict(two.named_modules())
    assert list(named) == ["", "net", "net.first", "net.second", "norm"]
    assert named[""] is two and named["net.first"] is two.net.first
    assert two.modules() == list(named.values())
    shared = pm.nn.Dense(4)
    assert len(pm.nn.Sequential(shared, shared).modules()) == 2
    assert [type(each).__name__ for each in pm.nn.resnet18().children()][:1] != []


def test_train_eval_and_freeze_give_the_module() -> None:
    net = Net().eval()
    assert isinstance(net, Net) and not net.training
    assert net.train() is net and net.training
    assert net.freeze() is net and not any(p.trainable for p in net.parameters())


def test_a_state_goes_from_one_module_to_another(tmp_path: Path) -> None:
    x = pm.random_normal((3, 4))
    one, other = Two().eval(), Two().eval()
    expected = one(x).numpy().copy()
    other.build((1, 4))
    assert other.load_state_dict(one.state_dict()) == ([], [])
    assert np.array_equal(other(x).numpy(), expected)
    one.net.scale.assign(one.net.scale * 2)
    assert not np.array_equal(one(x).numpy(), expected)
    assert np.array_equal(other(x).numpy(), expected), "values were copied"
    # By file, by NumPy, and of a module within.
    pm.save_safetensors(tmp_path / "two.safetensors", other.state_dict())
    assert one.load_state_dict(pm.load_safetensors(tmp_path / "two.safetensors")) == ([], [])
    assert np.array_equal(one(x).numpy(), expected)
    third = Net()
    third.build((1, 4))
    third.load_state_dict({name: value.numpy() for name, value in one.net.state_dict().items()})
    assert np.array_equal(third(x).numpy(), one.net(x).numpy())


def test_pytorchs_counters_of_batches_are_left_out_of_a_state() -> None:
    norm = pm.nn.BatchNorm(channels=2)
    norm.build((1, 2))
    norm.materialize()
    state = {name: value.clone() for name, value in norm.state_dict().items()}
    state["num_batches_tracked"] = pm.tensor(3)
    assert norm.load_state_dict(state) == ([], [])


def test_weights_of_another_floating_dtype_are_converted() -> None:
    net = Net()
    net.build((1, 4))
    kinds = [np.float16, np.float64, np.float32]
    state: dict[str, object] = {name: np.full(parameter.shape, 0.1, kinds[i % 3])
                                for i, (name, parameter) in enumerate(net.named_parameters())}
    state["scale"] = pm.tensor([1.5, -2.0, 0.25]).to("bf16")
    assert net.load_state_dict(state) == ([], [])
    assert net.scale.dtype == pm.f32 and net.scale.tolist() == [1.5, -2.0, 0.25]
    for name, parameter in net.named_parameters():
        if name != "scale":
            assert np.array_equal(parameter.numpy(), np.asarray(state[name]).astype(np.float32)), name


def test_a_conversion_that_has_no_room_changes_nothing() -> None:
    small = pm.device("cpu").session("small", limit="3MiB")
    with small:
        net = pm.nn.Dense(512, in_features=512)
        net(pm.ones((1, 512)))
        before = net.weight.numpy().copy()
        state = {"weight": np.zeros((512, 512), np.float16), "bias": np.zeros(512, np.float16)}
        held = pm.zeros((1 << 18,))
        with pytest.raises(pm.OutOfMemory, match="load_state_dict"):
            net.load_state_dict(state)
        assert np.array_equal(net.weight.numpy(), before)
        del held
        net.load_state_dict(state)
        assert not net.weight.numpy().any()
        del net


def test_files_of_base_models_lack_a_word_in_front() -> None:
    net = pm.nn.make_model("gpt2_tiny")
    net.materialize(seed=3)
    state = {name: value.clone() for name, value in net.state_dict().items()}
    assert all(name.startswith("transformer.") for name in state)
    base = {name.removeprefix("transformer."): value for name, value in state.items()}
    base["h.0.attn.bias"] = pm.ones((1, 1, 128, 128), dtype=pm.bool_)
    base["h.0.attn.masked_bias"] = pm.tensor(-1e4)
    other = pm.nn.make_model("gpt2_tiny")
    other.materialize(seed=4)
    assert other.load_state_dict(base) == ([], [])
    for name, value in other.state_dict().items():
        assert np.array_equal(value.numpy(), state[name].numpy()), name
    del base["wte.weight"]
    with pytest.raises(pm.InvalidArgument, match="the state has no transformer"):
        other.load_state_dict(base)


def test_a_state_shares_the_modules_memory() -> None:
    net = Net()
    net(pm.ones((1, 4)))
    before = pm.default_device().used
    state = net.state_dict()
    assert pm.default_device().used == before
    net.scale.assign(pm.full((3,), 7.0))
    assert state["scale"].tolist() == [7.0, 7.0, 7.0]


def test_states_that_do_not_fit_are_refused_and_change_nothing() -> None:
    net = Net()
    with pytest.raises(pm.InvalidArgument, match="scale has no values yet"):
        net.state_dict()
    net(pm.ones((1, 4)))
    state = {name: value.clone() for name, value in net.state_dict().items()}
    zeros = {name: pm.zeros(value.shape) for name, value in state.items()}
    for broken, words in [
        ({**zeros, "third.weight": pm.ones((1,))}, "the module has no third.weight"),
        ({name: value for name, value in zeros.items() if name != "scale"}, "the state has no scale"),
        ({**zeros, "scale": pm.zeros((4,))}, r"scale is f32 \[4\], and the module's is f32 \[3\]; give the module"),
        ({**zeros, "scale": pm.zeros((3,), dtype=pm.i32)}, r'scale is i32.*state\["scale"\].to\("f32"\)'),
    ]:
        with pytest.raises(pm.InvalidArgument, match=words):
            net.load_state_dict(broken)
        assert all(np.array_equal(net.state_dict()[name].numpy(), state[name].numpy()) for name in state)
    with pytest.raises(TypeError, match=r"state\[.scale.\]"):
        net.load_state_dict({**zeros, "scale": "text"})
    with pytest.raises(TypeError, match="dict of tensors"):
        net.load_state_dict(3)  # type: ignore[arg-type]
    missing, unexpected = net.load_state_dict({"scale": pm.ones((3,)), "more": pm.ones((1,))}, strict=False)
    assert set(missing) == set(state) - {"scale"} and unexpected == ["more"]
    assert net.scale.tolist() == [1.0, 1.0, 1.0]


class Scaled(pm.nn.Module):
    """With variables that are made before they belong to it."""

    def __init__(self, scale: pm.Variable) -> None:
        super().__init__()
        self.scale = scale
        self.count = pm.Variable(pm.zeros((1,)), trainable=False)

    def forward(self, x: pm.Tensor) -> pm.Tensor:
        result: pm.Tensor = x * self.scale
        return result


def test_variables_that_are_assigned_are_trained_and_saved() -> None:
    net = Scaled(pm.Variable([1.0], name="mine"))
    assert [p.name for p in net.parameters()] == ["scale"]
    assert [p.name for p in net.buffers()] == ["count"]
    x = np.arange(64, dtype=np.float32).reshape(64, 1) / 64
    data = pm.data.from_tensor_slices((x, 3 * x)).batch(16)
    pm.Trainer(net, loss="mean_squared_error", optimizer=pm.optim.sgd(0.5)).fit(data, epochs=30)
    assert net.scale.item() == pytest.approx(3.0, abs=1e-2)
    assert net.state_dict()["scale"].tolist() == net.scale.tolist()
    other = Scaled(pm.Variable([0.0]))
    other.load_state_dict(net.state_dict())
    assert other.scale.tolist() == net.scale.tolist()


def test_a_variable_of_two_modules_counts_once() -> None:
    shared = pm.Variable([2.0])
    both = pm.nn.Sequential(Scaled(shared), Scaled(shared))
    assert len(both.parameters()) == 1
    with pm.GradientTape() as tape:
        loss = pm.sum(both(pm.tensor([[1.0]])))
    (gradient,) = tape.gradient(loss, both.parameters())
    assert gradient.tolist() == [4.0]  # of scale squared


class Tied(pm.nn.Module):
    """Its output weights are those of its embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.words = pm.nn.Embedding(11, 4)
        self.head = self.words.weight

    def forward(self, ids: pm.Tensor) -> pm.Tensor:
        result: pm.Tensor = pm.matmul(self.words(ids), pm.transpose(self.head, (1, 0)))
        return result


def test_a_parameter_of_another_module_is_shared() -> None:
    net = Tied()
    assert [p.name for p in net.parameters()] == ["words.weight"]
    ids = np.arange(44).reshape(4, 11) % 11
    data = pm.data.from_tensor_slices((ids, ids)).batch(2)
    history = pm.Trainer(net, loss="cross_entropy", optimizer=pm.optim.adam(0.05)).fit(data, epochs=20)
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    assert list(net.state_dict()) == ["words.weight"]


def test_inputs_of_a_module_may_be_named() -> None:
    class Two(pm.nn.Module):
        def forward(self, x: pm.Tensor, mask: pm.Tensor | None = None, bias: pm.Tensor | None = None) -> Any:
            y = x if mask is None else x * mask
            return y if bias is None else y + bias

    class Last(pm.nn.Module):
        def forward(self, x: pm.Tensor, *, scale: pm.Tensor) -> Any:
            return x * scale

    net, x, two = Two(), pm.ones((2,)), pm.full((2,), 2.0)
    assert net(x, mask=two).tolist() == net(mask=two, x=x).tolist() == [2, 2]
    assert net(x, mask=None).tolist() == [1, 1] and net(x, two, bias=x).tolist() == [3, 3]
    with pytest.raises(TypeError, match=r"\[Two\] bias cannot be given to forward\(x.*those before it must be given"):
        net(x, bias=two)
    with pytest.raises(TypeError, match=r"\[Two\] got an unexpected keyword argument 'msk'; it has forward\(x"):
        net(x, msk=two)
    with pytest.raises(TypeError, match=r"\[Last\] scale cannot be given .* none can be taken by name alone"):
        Last()(x, scale=two)
    with pytest.raises(TypeError, match=r"\[ReLU\] there is no argument scale; it takes inputs"):
        pm.nn.ReLU()(x, scale=two)
