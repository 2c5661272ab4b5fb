"""Pictures for the scripts beside this file: smooth ones of several sizes, made once per folder."""

import json
import os
import sys

import numpy as np


def memory(name):
    """MiB of the process: VmRSS now, VmHWM at most."""
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) / 1024


IMPORTED = memory("VmRSS")


def make(tf, folder, count=24):
    """Paths and labels of JPEG files; what is there already is used, so that two programs read the same."""
    os.makedirs(folder, exist_ok=True)
    paths, labels = [], []
    for i in range(count):
        path = os.path.join(folder, f"image{i:03}.jpg")
        if not os.path.exists(path):
            rng = np.random.default_rng(i)
            height, width = 120 + 16 * (i % 5), 160 + 24 * (i % 3)
            y, x = np.mgrid[0:height, 0:width].astype(np.float32)
            a, b, c = rng.uniform(0.01, 0.05, 3)
            waves = [np.sin(a * x + i), np.cos(b * y), np.sin(c * (x + y))]
            picture = (127 + 100 * np.stack(waves, axis=-1)).astype(np.uint8)
            tf.io.write_file(path, tf.io.encode_jpeg(picture, quality=92))
        paths.append(path)
        labels.append(i % 4)
    return paths, labels


def report(**numbers):
    """What another program should find, too: as one line."""
    plain = {}
    for name, value in numbers.items():
        array = np.asarray(value, dtype=np.float64)
        plain[name] = array.ravel().tolist()
    print("RESULT " + json.dumps(plain), flush=True)
    print(f"MEMORY {memory('VmHWM') - IMPORTED:.0f} MiB above {IMPORTED:.0f} MiB", flush=True)
    try:
        peak = sys.modules["tensorflow"].config.experimental.get_memory_info("CPU:0")["peak"]
        print(f"LEDGER {peak / (1 << 20):.1f} MiB", flush=True)
    except ValueError:  # TensorFlow counts nothing on CPUs
        pass


def folder():
    return os.environ.get("PICTURES", os.path.join(os.path.dirname(os.path.abspath(__file__)), "made"))
