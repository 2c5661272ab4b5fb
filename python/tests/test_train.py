"""The trainer: plans, fits, evaluates, predicts, saves."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import plimsoll as pm

pytestmark = pytest.mark.usefixtures("device")


def digits() -> tuple[pm.data.Dataset, pm.data.Dataset]:
    images, labels = pm.data.load_digits()
    pictures = pm.data.from_tensor_slices(((images.to("f32") / 16).reshape(1797, 1, 8, 8), labels))
    return pictures.take(1437).shuffle(512).batch(32), pictures.skip(1437).batch(32)


class Net(pm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = pm.nn.Sequential(pm.nn.Flatten(), pm.nn.Dense(64), pm.nn.ReLU(), pm.nn.Dense(10))
        self.ran = 0
        self.trainer: pm.Trainer | None = None

    def forward(self, x: pm.Tensor) -> Any:
        self.ran += 1
        return self.body(x)


def test_a_module_in_python_learns_within_its_plan(device: pm.Device) -> None:
    train, validation = digits()
    net = Net()
    trainer = pm.Trainer(net, loss="cross_entropy", optimizer=pm.optim.adamw(3e-3), metrics=["accuracy"])
    before = device.used
    plan = trainer.plan(train, validation)
    assert device.used == before, "a plan takes no memory"
    assert "fits" in str(plan)
    assert plan.batch == 32
    ran = net.ran
    history = trainer.fit(train, validation, epochs=3, plan=plan)
    assert history.planned_peak == history.measured_peak == plan.planned_peak
    assert history["validation_accuracy"][-1] > 0.85
    assert len(history.losses) == 3 * 45
    assert str(history).startswith("History(3 epochs, 135 steps, ")
    assert net.ran - ran < 20, "Python runs per trace, not per step"
    assert trainer.evaluate(validation)["accuracy"] == pytest.approx(history["validation_accuracy"][-1])
    assert trainer.predict(pm.zeros((3, 1, 8, 8))).shape == (3, 10)
    assert trainer.predict(validation).shape == (360, 10)
    assert net(pm.zeros((1, 1, 8, 8))).shape == (1, 10), "the weights are the module's"


def test_losses_metrics_and_callbacks_may_be_python(device: pm.Device) -> None:
    train, validation = digits()
    seen: list[tuple[int, float]] = []

    class Show(pm.Callback):
        def on_epoch(self, run: pm.Run) -> None:
            seen.append((run.epoch, run.metrics["loss"]))

        def on_step(self, run: pm.Run) -> None:
            if run.step == 60:
                run.stop("enough")

    def loss(logits: pm.Tensor, labels: pm.Tensor) -> pm.Tensor:
        return pm.nn.cross_entropy(logits, labels, smoothing=0.1)

    right = pm.Metric(
        "right", lambda y, t: pm.sum((y.argmax() == t).to("f32")), higher_is_better=True
    )
    trainer = pm.Trainer(Net(), loss=loss, metrics=[right, "top_5_accuracy"])
    history = trainer.fit(train, validation, epochs=5, callbacks=[Show()])
    assert history.steps == 60
    assert history.stopped == "enough"
    assert seen[0][0] == 1
    assert 0 < trainer.evaluate(validation)["right"] <= 1


def test_what_a_callback_raises_ends_the_run(device: pm.Device) -> None:
    class Broken:
        def on_step(self, run: pm.Run) -> None:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        pm.Trainer(Net(), loss="cross_entropy").fit(digits()[0], epochs=1, callbacks=[Broken()])


def test_steps_of_ones_own_take_every_component_of_a_batch(device: pm.Device) -> None:
    class Two(pm.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = pm.nn.Dense(1)

        def forward(self, x: pm.Tensor, scale: pm.Tensor) -> Any:
            return self.dense(x) * scale

    x, scale = pm.random_uniform([8, 3]), pm.random_uniform([8, 1])
    y = scale * pm.mean(x, 1).reshape(8, 1)
    data = pm.data.from_tensor_slices((x, scale, y)).batch(8, drop_remainder=True)
    trainer = pm.Trainer(Two(), loss="mean_squared_error", optimizer=pm.optim.adam(0.05), device=device)
    plan = trainer.plan(data)
    losses = []
    for _ in range(20):
        trainer.step(plan, x, scale, y)
        losses.append(trainer.loss())
    assert losses[-1] < 0.5 * losses[0]
    for refused in [(), (x, y), (x, scale, y, y)]:
        with pytest.raises(ValueError, match="batch is empty|the model wants"):
            trainer.step(plan, *refused)


@pytest.mark.parametrize("kind", ["random_mixup", "random_cutmix"])
def test_a_models_own_loss_takes_class_probabilities(device: pm.Device, kind: str) -> None:
    images, labels = pm.data.load_digits()
    pictures = pm.data.from_tensor_slices(((images.to("f32") / 16).reshape(1797, 1, 8, 8), labels))
    mix = getattr(pm.image, kind)
    train = pictures.take(192).batch(64).map(lambda x, y: mix(x, y, classes=10))
    validation = pictures.skip(192).take(64).batch(32).map(lambda x, y: (x, pm.one_hot(y, 10)))
    runs = []
    for loss in (None, "cross_entropy", "cross_entropy_dense"):
        net = pm.nn.resnet18(classes=10, channels=1, size=8)
        trainer = pm.Trainer(net, loss=loss, optimizer=pm.optim.adam(1e-3), seed=3, metrics=["accuracy"] if loss else None)
        history = trainer.fit(train, validation, epochs=2)
        assert history.planned_peak == history.measured_peak
        if loss:
            assert 0 <= history["validation_accuracy"][-1] <= 1
        runs.append(history.losses)
    assert runs[0] == runs[1] == runs[2] and runs[0][-1] < runs[0][0]
    with pytest.raises(pm.InvalidArgument, match=r"the model wants \(f32 \[\?,1,8,8\], f32 \[\?,10\]\)"):
        trainer.fit(train, pictures.batch(32), epochs=1)


class Halves(pm.Callback):
    """Halves the rate after every third epoch."""

    trainer: pm.Trainer

    def __init__(self) -> None:
        self.epochs = 0.0

    def on_epoch(self, run: pm.train.Run) -> None:
        self.epochs += 1
        if self.epochs % 3 == 0:
            self.trainer.optimizer.rate_factor /= 2

    def state_dict(self) -> dict[str, float]:
        return {"epochs": self.epochs}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.epochs = state["epochs"]


def test_what_callbacks_keep_goes_on_with_a_run(device: pm.Device, tmp_path: Path) -> None:
    data = pm.data.from_tensor_slices((pm.random_normal((32, 4)), pm.ones((32, 1)))).batch(8)

    def fit(name: str, callback: Halves, resume: bool = False, steps: int = 0) -> list[float]:
        trainer = pm.Trainer(pm.nn.Dense(1), loss="mean_squared_error", optimizer=pm.optim.sgd(0.1), seed=1)
        callback.trainer = trainer
        return list(trainer.fit(data, epochs=8, steps=steps, callbacks=[callback, pm.train.reduce_on_plateau(
            metric="loss", patience=0, min_delta=0.01, factor=0.9)], checkpoints=tmp_path / name, resume=resume).losses)

    whole = fit("whole", Halves())
    for at in (4, 5, 12, 20, 31):
        fit(str(at), Halves(), steps=at)
        assert fit(str(at), Halves(), resume=True) == whole, at

    class Broken(Halves):
        def on_step(self, run: pm.train.Run) -> None:
            raise AssertionError("it is refused before anything is trained")

        def state_dict(self) -> dict[str, float]:
            return {"best": float("inf")}

    with pytest.raises(pm.InvalidArgument, match="'Broken' keeps best = inf"):
        fit("broken", Broken())


def test_a_run_that_has_ended_says_so(device: pm.Device) -> None:
    class Keeps(pm.Callback):
        run: pm.train.Run

        def on_step(self, run: pm.train.Run) -> None:
            self.run = run

    data = pm.data.from_tensor_slices((pm.zeros((8, 2)), pm.zeros((8, 1)))).batch(4)
    callback = Keeps()
    pm.Trainer(pm.nn.Dense(1), loss="mean_squared_error").fit(data, epochs=1, callbacks=[callback])
    assert repr(callback.run) == "Run(ended)"
    for use in (lambda: callback.run.loss, lambda: callback.run.device, lambda: callback.run.stop()):
        with pytest.raises(pm.InvalidArgument, match=r"\[Run\] the run has ended"):
            use()


def test_a_budget_that_is_too_small_is_refused_before_the_first_step(device: pm.Device) -> None:
    trainer = pm.Trainer(pm.nn.make_model("resnet18", size=64))
    with pytest.raises(pm.BudgetTooSmall, match="smallest budget for this batch"):
        trainer.plan(batch=256, budget="64MiB")
    assert trainer.plan(batch=8, device="h200").planned_peak > 0


def test_what_was_saved_is_loaded(device: pm.Device, tmp_path: Path) -> None:
    train, validation = digits()
    trainer = pm.Trainer(Net(), loss="cross_entropy")
    trainer.fit(train, steps=30)
    expected = trainer.evaluate(validation)["loss"]
    trainer.save(tmp_path / "model.safetensors", {"note": "mine"})
    other = pm.Trainer(Net(), loss="cross_entropy")
    other.plan(train)
    other.model.build((1, 1, 8, 8))
    assert other.load(tmp_path / "model.safetensors")["note"] == "mine"
    assert other.evaluate(validation)["loss"] == pytest.approx(expected, rel=1e-6)


def test_a_run_goes_on_from_its_checkpoints(device: pm.Device, tmp_path: Path) -> None:
    train, _ = digits()
    whole = pm.Trainer(Net(), loss="cross_entropy", seed=1).fit(train, epochs=2)
    pm.Trainer(Net(), loss="cross_entropy", seed=1).fit(train, epochs=1, checkpoints=tmp_path)
    rest = pm.Trainer(Net(), loss="cross_entropy", seed=1).fit(
        train, epochs=2, checkpoints=tmp_path, resume=True
    )
    assert rest.losses == whole.losses


def test_a_file_of_choices_is_used_where_it_fits(device: pm.Device, tmp_path: Path, caplog: Any) -> None:
    train, _ = digits()

    def losses(**options: Any) -> Any:
        trainer = pm.Trainer(Net(), loss="cross_entropy", optimizer=pm.optim.sgd(0.1), seed=3, **options)
        return trainer.fit(train, steps=3).losses

    by_rule = losses()
    # On the CPU kernels leave no choice.
    file = tmp_path / "choices.json"
    file.write_text('{"backend": "cuda", "choices": {"gemm 8x8x8": "cuBLASLt 13.1.0"}}')
    with caplog.at_level("WARNING", logger="plimsoll"):
        assert losses(choices=file) == by_rule
        deadline = time.monotonic() + 10  # messages come from a thread of their own
        while "it was measured on 'cuda', and cpu:0" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "it was measured on 'cuda', and cpu:0" in caplog.text
    with pytest.raises(pm.DataError, match="there is no such file.*plimsoll tune"):
        pm.Trainer(Net(), loss="cross_entropy", choices=tmp_path / "nothing.json")
    file.write_text("no choices")
    with pytest.raises(pm.DataError, match="it is damaged"):
        pm.Trainer(Net(), loss="cross_entropy", choices=str(file))


def test_a_trainer_that_is_dropped_is_collected_with_its_functions(device: pm.Device) -> None:
    net = Net()
    trainer = pm.Trainer(net, loss=lambda y, t: pm.nn.cross_entropy(y, t))
    trainer.fit(digits()[0], steps=2)
    net.trainer = trainer  # a cycle
    del trainer
    dead = weakref.ref(net)
    del net
    gc.collect()
    assert dead() is None
    assert device.budget.holders() == [], "its memory is back"


def test_ctrl_c_stops_a_fit_with_a_checkpoint(tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        import plimsoll as pm
        signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
        pm.set_default_device(pm.device("cpu", limit="64MiB"))
        images, labels = pm.data.load_digits()
        train = pm.data.from_tensor_slices((images.to("f32").reshape(1797, 64), labels)).batch(32)
        class Interrupt(pm.Callback):
            def on_step(self, run):
                if run.step == 5:
                    os.kill(os.getpid(), signal.SIGINT)
        trainer = pm.Trainer(pm.nn.mlp(in_features=64))
        try:
            trainer.fit(train, epochs=1000, checkpoints=sys.argv[1], callbacks=[Interrupt()])
        except KeyboardInterrupt:
            print("interrupted", trainer.optimizer.step)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "run")],
        capture_output=True, text=True, timeout=120,
    )
    assert "interrupted" in done.stdout, done.stderr
    assert int(done.stdout.split()[1]) < 100
    saved = (tmp_path / "run" / "latest").read_text().strip()
    assert saved.startswith("step-") and (tmp_path / "run" / saved / "model.safetensors").is_file()


@pytest.mark.parametrize("call", [
    "trainer.evaluate(stream)", "trainer.predict(stream)",
    "pm.data.write_records(stream.map(lambda x, y: {'x': x, 'y': y}), folder)", "stream.save(folder)",
])
def test_ctrl_c_ends_what_runs_over_a_dataset(call: str, tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        import numpy as np
        import plimsoll as pm
        signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
        folder = sys.argv[1]
        def rows():
            for i in range(1 << 40):
                yield np.zeros((4, 64), np.float32), np.zeros((4,), np.int64)
                if i == 5:
                    os.kill(os.getpid(), signal.SIGINT)
        stream = pm.data.from_generator(rows, spec=[(pm.f32, (4, 64)), (pm.i64, (4,))])
        trainer = pm.Trainer(pm.nn.mlp(in_features=64))
        try:
            CALL
        except KeyboardInterrupt:
            print("interrupted", sorted(os.listdir(folder)) if os.path.isdir(folder) else [])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code).replace("CALL", call), str(tmp_path / "made")],
        capture_output=True, text=True, timeout=50,
    )
    assert done.stdout.strip() == "interrupted []", done.stdout + done.stderr
