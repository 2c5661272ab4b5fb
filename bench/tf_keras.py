"""Keras's fit here against TensorFlow's: seconds of an epoch and growth of memory, in one run.

    python bench/tf_keras.py --tensorflow PYTHON [--turns 3]

PYTHON is an interpreter that has TensorFlow; this one must have plimsoll. Each turn runs both, one after
the other, in processes of their own. Prints ratios: above 1 the time is better here, and growth (the
peak less what the import took) below 0.5 is half of TensorFlow's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

CHILD = r'''
import json, os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
if sys.argv[1] == "tensorflow":
    import tensorflow as tf
else:
    import plimsoll.compat.tf as tf
import numpy as np
layers = tf.keras.layers


def kib(what):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(what))


before = kib("VmRSS")
rng = np.random.default_rng(0)
if sys.argv[2] == "cnn":
    x = rng.random((2048, 28, 28, 1), dtype="float32")
    model = tf.keras.Sequential([
        tf.keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
        layers.Dense(64, activation="relu"), layers.Dense(10, activation="softmax")])
else:
    x = rng.random((8192, 784), dtype="float32")
    model = tf.keras.Sequential([
        tf.keras.Input((784,)), layers.Dense(512, activation="relu"), layers.Dropout(0.2),
        layers.Dense(256, activation="relu"), layers.Dense(10, activation="softmax")])
y = rng.integers(0, 10, len(x))
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=int(sys.argv[3]), epochs=1, verbose=0)
times = []
for _ in range(3):
    start = time.perf_counter()
    model.fit(x, y, batch_size=int(sys.argv[3]), epochs=1, verbose=0)
    times.append(time.perf_counter() - start)
print(json.dumps({"seconds": min(times), "growth": kib("VmHWM") - before}))
'''


def run(python: str, which: str, model: str, batch: int) -> dict[str, float]:
    done = subprocess.run([python, "-c", CHILD, which, model, str(batch)], capture_output=True, text=True,
                          env={**os.environ})
    if done.returncode != 0:
        raise SystemExit(f"{which} {model}: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tensorflow", required=True)
    options.add_argument("--turns", type=int, default=3)
    given = options.parse_args()
    for model, batch in (("cnn", 64), ("mlp", 128), ("mlp", 32)):
        times, growths = [], []
        for _ in range(given.turns):
            here = run(sys.executable, "plimsoll", model, batch)
            there = run(given.tensorflow, "tensorflow", model, batch)
            times.append(there["seconds"] / here["seconds"])
            growths.append(here["growth"] / there["growth"])
            print(f"  {model} {batch}: {here['seconds']:.3f} s here, {there['seconds']:.3f} s there; growth "
                  f"{here['growth'] / 1024:.0f} MiB here, {there['growth'] / 1024:.0f} MiB there", flush=True)
        print(f"{model}, batches of {batch}: {statistics.median(times):.2f} times TensorFlow's speed, "
              f"{statistics.median(growths):.2f} of its growth")


main()
