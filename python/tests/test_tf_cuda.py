"""TensorFlow scripts on a GPU: limits by the driver's own count, results as on the CPU, two devices at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import plimsoll as pm

sys.path.insert(0, str(Path(__file__).parent / "tf"))

from script_runs import SCRIPTS, differences, here, run  # noqa: E402

pytestmark = pytest.mark.skipif(
    not any(each["name"].startswith("cuda") for each in pm.list_devices()),
    reason="there is no GPU that this build can use",
)

LIMIT = 1024  # MiB, the driver's context included
ARTICLES = sorted(path.name for path in SCRIPTS.glob("a*.py"))

# A script that asks for growth may not configure logical devices as well.
ON_GPU = """
import os, runpy
import tensorflow as tf
gpu = tf.config.list_physical_devices("GPU")[0]
script = os.environ["SCRIPT"]
if "set_memory_growth" not in open(script).read():
    tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=LIMIT)])
with tf.device("/GPU:0"):
    runpy.run_path(script, run_name="__main__")
""".replace("LIMIT", str(LIMIT))

TWO_AT_ONCE = """
import threading
import tensorflow as tf
gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1024),
                                                 tf.config.LogicalDeviceConfiguration(memory_limit=1024)])
losses = {}
both = threading.Barrier(2)
def train(place):
    with tf.device(place):
        model = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(1)])
        model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss="mse")
        x = tf.random.normal((4096, 32))
        y = tf.reduce_sum(x, axis=1, keepdims=True)
        model.fit(x, y, epochs=1, batch_size=64, verbose=0)
        both.wait()
        losses[place] = model.fit(x, y, epochs=10, batch_size=64, verbose=0).history["loss"]
threads = [threading.Thread(target=train, args=(place,)) for place in ("/GPU:0", "/GPU:1")]
for each in threads: each.start()
for each in threads: each.join()
for place in ("/GPU:0", "/GPU:1"):
    assert losses[place][-1] < 0.5 * losses[place][0], (place, losses[place])
print("both trained")
"""


class DriversCount:
    """The most memory that the GPU had in use, as nvidia-smi tells it, above what it had before."""

    def __init__(self) -> None:
        self._smi = subprocess.Popen(
            ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0", "-lms", "20"],
            stdout=subprocess.PIPE, text=True,
        )
        assert self._smi.stdout is not None
        self._before = int(self._smi.stdout.readline())

    def end(self) -> int:
        time.sleep(0.1)
        self._smi.terminate()
        told, _ = self._smi.communicate()
        return max([int(line) for line in told.split() if line.isdigit()] + [self._before]) - self._before


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")


def _run_there(text: str, folder: Path, pictures: Path, **environment: str) -> tuple[list[dict[str, list[float]]], int]:
    wrapper = folder / "wrapper.py"
    wrapper.write_text(text)
    count = DriversCount()
    try:
        results = run([sys.executable, "-m", "plimsoll.compat.tf"], str(wrapper), pictures,
                      CUDA_VISIBLE_DEVICES="0", PYTHONFAULTHANDLER="1", **environment)
    finally:
        used = count.end()
    return results, used


@pytest.mark.parametrize("script", ARTICLES)
def test_an_articles_script_keeps_its_limit(script: str, tmp_path: Path, pictures: Path) -> None:
    there, used = _run_there(ON_GPU, tmp_path, pictures, SCRIPT=str(SCRIPTS / script))
    assert 0 < used <= LIMIT, f"the driver counts {used} MiB"
    beside = here(script, pictures)
    for each in [*there, *beside]:
        each.pop("gpus", None)  # how many there are
    found = differences(there, beside, 2e-3)
    assert not found, json.dumps(found)


def test_two_logical_devices_train_two_models_at_once(tmp_path: Path, pictures: Path) -> None:
    _, used = _run_there(TWO_AT_ONCE, tmp_path, pictures)
    assert used <= 2048, f"the driver counts {used} MiB"
