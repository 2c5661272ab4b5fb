#!/usr/bin/env python3
"""Article 000's pipeline, the same script under TensorFlow and under plimsoll.compat.tf, by turns:
bench/tf_scripts.py BUILD [--images N] [--turns N]

Prints images per second of both in the same run, their ratio (the bar is 1.3), and how much each
process grew above what it had after its imports (the bar is half of TensorFlow's).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

SPEED_BAR, GROWTH_BAR = 1.3, 0.5

SCRIPT = '''
import json, os, sys, time
import tensorflow as tf


def memory(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) / 1024


folder, count = sys.argv[1], int(sys.argv[2])
image_paths = [os.path.join(folder, f"image{i}.jpg") for i in range(count)]
if not os.path.exists(image_paths[-1]):
    import numpy as np
    for i, path in enumerate(image_paths):
        y, x = np.mgrid[0:375 + i % 40, 0:500].astype(np.float32)
        noise = np.random.default_rng(i).normal(0, 12, y.shape)
        picture = np.stack([127 + 90 * np.sin(x / 30 + i) + noise, 127 + 90 * np.cos(y / 25) - noise, 255 - x / 2], -1)
        picture = np.clip(picture, 0, 255).astype(np.uint8)
        tf.io.write_file(path, tf.io.encode_jpeg(picture, quality=90))
    sys.exit()
labels = [i % 10 for i in range(count)]
before = memory("VmRSS")


def load_and_preprocess(image_path, label):
    image = tf.io.read_file(image_path)
    image = tf.image.decode_jpeg(image, channels=3)
    image = tf.image.resize(image, [224, 224])
    image = tf.cast(image, tf.float32) / 255.0
    return image, label


dataset = tf.data.Dataset.from_tensor_slices((image_paths, labels))
dataset = dataset.map(load_and_preprocess, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(64).prefetch(tf.data.AUTOTUNE)
seen, rates = 0, []
for epoch in range(3):
    began, seen = time.perf_counter(), 0
    for images, _ in dataset:
        seen += int(images.shape[0])
    rates.append(seen / (time.perf_counter() - began))
print(json.dumps({"rate": max(rates[1:]), "growth": memory("VmHWM") - before}))
'''

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--images", type=int, default=512)
parser.add_argument("--turns", type=int, default=5)
parser.add_argument("--tensorflow", default=".venv-tf/bin/python", help="a Python that has TensorFlow")
parser.add_argument("--python", default=sys.executable, help="a Python that runs the build's package")
options = parser.parse_args()

environment = {**os.environ, "PYTHONPATH": f"{options.build}/python", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
sides = {"TensorFlow": [options.tensorflow], "Plimsoll": [options.python, "-m", "plimsoll.compat.tf"]}
if not os.path.exists(options.tensorflow):
    sys.exit(f"[tf_scripts] there is no {options.tensorflow}; ./dev bench data makes .venv-tf")

with tempfile.TemporaryDirectory() as folder:
    script = os.path.join(folder, "pipeline.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)

    def run(side):
        done = subprocess.run([*sides[side], script, folder, str(options.images)], env=environment, check=True,
                              capture_output=True, text=True)
        return json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else {}

    run("TensorFlow")  # makes the pictures
    found = {side: [] for side in sides}
    for turn in range(options.turns):
        for side in sides if turn % 2 == 0 else reversed(sides):
            found[side].append(run(side))

print(f"{'':12}{'images/s':>12}{'best':>10}{'grew by':>12}")
for side, runs in found.items():
    rates = [each["rate"] for each in runs]
    growth = statistics.median(each["growth"] for each in runs)
    print(f"{side:12}{statistics.median(rates):12,.0f}{max(rates):10,.0f}{growth:9.0f} MiB")
ratios = [a["rate"] / b["rate"] for a, b in zip(found["Plimsoll"], found["TensorFlow"])]
growths = [a["growth"] / b["growth"] for a, b in zip(found["Plimsoll"], found["TensorFlow"])]
print(f"images/s, of TensorFlow's: {statistics.median(ratios):.2f} (bar: at least {SPEED_BAR})")
print(f"growth, of TensorFlow's:   {statistics.median(growths):.2f} (bar: at most {GROWTH_BAR})")
