"""What needs a GPU: exchange without copies, limits, training, feeding PyTorch, TensorFlow scripts."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plimsoll as pm


def _has_gpu() -> bool:
    return any(each["name"].startswith("cuda") for each in pm.list_devices())


pytestmark = pytest.mark.skipif(not _has_gpu(), reason="there is no GPU that this build can use")


def test_values_go_there_and_back(gpu: pm.Device) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = pm.tensor(x, device=gpu)
    assert y.device.name == "cuda:0"
    np.testing.assert_array_equal((y * 2 + 1).to("cpu").numpy(), x * 2 + 1)


def test_the_limit_is_kept_and_names_its_holders(gpu: pm.Device) -> None:
    held = pm.zeros((1 << 28,), dtype=pm.u8, device=gpu)
    with pytest.raises(pm.OutOfMemory) as refused:
        pm.zeros((1 << 20, 4096), device=gpu)
    assert refused.value.holders
    assert refused.value.requested == (1 << 20) * 4096 * 4
    del held


def test_pytorch_shares_memory_both_ways(gpu: pm.Device) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.arange(6, dtype=torch.float32, device="cuda:0")
    ours = pm.from_dlpack(theirs)
    theirs += 1
    torch.cuda.synchronize()
    np.testing.assert_array_equal(ours.to("cpu").numpy(), np.arange(6) + 1)
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr()
    made = torch.from_dlpack(pm.ones((4,), device=gpu))
    assert made.is_cuda and made.tolist() == [1, 1, 1, 1]


def test_streams_are_waited_for(gpu: pm.Device) -> None:
    torch = pytest.importorskip("torch")
    side = torch.cuda.Stream()
    for _ in range(20):
        with torch.cuda.stream(side):
            x = torch.zeros(1 << 24, device="cuda:0")
            for _ in range(20):
                x += 1
            ours = pm.from_dlpack(x)
        assert float(pm.sum(ours).to("cpu").numpy()) == 20 * (1 << 24)


def test_cupy_reads_it(gpu: pm.Device) -> None:
    cupy = pytest.importorskip("cupy")
    x = pm.tensor([[1.0, 2.0], [3.0, 4.0]], device=gpu)
    assert cupy.asarray(x).sum() == 10


def test_ten_thousand_round_trips_leave_nothing(gpu: pm.Device) -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(1024, device="cuda:0")
    before = gpu.budget.used
    for _ in range(10_000):
        assert torch.from_dlpack(pm.from_dlpack(x)).data_ptr() == x.data_ptr()
    gc.collect()
    assert gpu.budget.used == before


@pytest.mark.parametrize("precision", ["f32", "tf32", "bf16"])
def test_a_module_of_ones_own_learns(gpu: pm.Device, precision: str) -> None:
    class Net(pm.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = pm.nn.Conv2D(8, 3)
            self.dense = pm.nn.Dense(2)

        def forward(self, x: pm.Tensor) -> pm.Tensor:
            scores: pm.Tensor = self.dense(pm.mean(pm.relu(self.conv(x)), [2, 3]))
            return scores

    random = np.random.default_rng(1)
    x = random.random((256, 3, 16, 16), dtype=np.float32)
    y = random.integers(0, 2, 256)
    x += y[:, None, None, None].astype(np.float32)
    data = pm.data.from_tensor_slices((x, y)).shuffle().batch(32)
    trainer = pm.Trainer(Net(), loss="cross_entropy", optimizer=pm.optim.adamw(1e-2), metrics=["accuracy"],
                         precision=precision, device=gpu)
    history = trainer.fit(data, data, epochs=10)
    assert history["validation_accuracy"][-1] > 0.9


def test_a_function_runs_there(gpu: pm.Device) -> None:
    @pm.function
    def f(x: Any, y: Any) -> Any:
        return pm.relu(x @ y) + 1

    x = np.random.default_rng(2).standard_normal((64, 64)).astype(np.float32)
    got = f(pm.tensor(x, device=gpu), pm.tensor(x, device=gpu)).to("cpu").numpy()
    np.testing.assert_allclose(got, np.maximum(x @ x, 0) + 1, rtol=1e-4, atol=1e-4)


def test_a_pipeline_feeds_pytorch(gpu: pm.Device) -> None:
    torch = pytest.importorskip("torch")
    x = np.arange(4096 * 64, dtype=np.float32).reshape(4096, 64)
    data = pm.data.from_tensor_slices((x, np.arange(4096))).shuffle().batch(128).prefetch()
    seen = []
    total = torch.zeros((), dtype=torch.float64, device="cuda:0")
    for images, labels in data.to_torch("cuda:0"):
        assert images.is_cuda and labels.is_cuda
        torch.cuda._sleep(2_000_000)  # the loop is behind the pipeline
        total += (images[:, 0].double() - labels.double() * 64).abs().sum()
        seen.append(labels)
    assert float(total) == 0
    assert sorted(torch.cat(seen).tolist()) == list(range(4096))


def test_the_same_batches_follow_a_position(gpu: pm.Device) -> None:
    pytest.importorskip("torch")

    def loader() -> Any:
        return pm.data.range(1000).shuffle(seed=3).batch(50).prefetch().to_torch("cuda:0")

    first = loader()
    it = iter(first)
    for _ in range(7):
        next(it)
    state = first.state_dict()
    rest = [batch.tolist() for batch in it]
    second = loader()
    second.load_state_dict(state)
    assert [batch.tolist() for batch in second] == rest


SCRIPT = """
import plimsoll.compat.tf as tf
gpu = tf.config.list_physical_devices('GPU')[0]
tf.config.set_logical_device_configuration(
    gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1024), tf.config.LogicalDeviceConfiguration(memory_limit=1536)])
assert len(tf.config.list_logical_devices('GPU')) == 2
losses = {}
for place in ('/GPU:0', '/GPU:1'):
    with tf.device(place):
        model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation='relu'), tf.keras.layers.Dense(1)])
        model.compile(optimizer=tf.keras.optimizers.Adam(1e-2), loss='mse')
        x = tf.random.normal((512, 32))
        y = tf.reduce_sum(x, axis=1, keepdims=True)
        history = model.fit(x, y, epochs=5, batch_size=64, verbose=0)
        losses[place] = history.history['loss']
for place, loss in losses.items():
    assert loss[-1] < loss[0], (place, loss)
with tf.device('/GPU:0'):
    try:
        tf.zeros((1024, 1024, 1024))
    except tf.errors.ResourceExhaustedError as refused:
        print('refused', '1 GiB' in str(refused) or '1024' in str(refused))
a = tf.random.normal((1000, 1000))
with tf.device('/GPU:1'):
    b = tf.matmul(a, a)
    assert 'GPU:1' in b.device, b.device
print('ok')
"""


def test_logical_devices_of_a_tensorflow_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "refused True" in done.stdout and "ok" in done.stdout
