"""Runs the sides of `./dev bench augment` by turns and holds ratios against their bars. See
bench/augment.sh.
"""

import argparse
import json
import os
import subprocess
import sys

from bars import Bars

TF = ".venv-tf/bin/python"
TORCH = os.environ.get("PLIMSOLL_TORCH_PYTHON", ".venv-torch/bin/python")
BUDGET = 256  # MiB


def has(python, module):
    try:
        return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
    except OSError:
        return False


def last_json(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    bars = Bars()
    pictures, threads = f"{options.folder}/pictures", str(options.threads)
    last_json([f"{options.build}/bench/bench_data_images", "--folder", pictures, "--images",
               str(options.images), "--rounds", "1", "--json"])
    ours = f"{options.build}/bench/bench_augment"
    sides = {}
    for kind in ("plain", "antialias"):
        sides[kind] = [ours, "--pictures", pictures, "--threads", threads, "--resize", kind,
                       "--budget", str(BUDGET)]
    for side, python, module in (("tf.data", TF, "tensorflow"), ("torchvision", TORCH, "torchvision")):
        if has(python, module):
            sides[side] = [python, "bench/augment_peers.py", module, pictures, threads]
        else:
            bars.leave_out(side, f"{python} has no {module}")

    best, rss = dict.fromkeys(sides, 0.0), 0
    for turn in range(options.turns):
        for side, command in sides.items():
            result = last_json(command)
            best[side] = max(best[side], result["rate"])
            if command[0] == ours:
                rss = max(rss, result["rss_peak"])
            print(f"turn {turn + 1}  {side:<14}{result['rate']:>10.1f} images/s", flush=True)
    for side, kind, bar in (("tf.data", "plain", 1.5), ("torchvision", "antialias", 2.5)):
        if side in best:
            title = "and its DataLoader" if side == "torchvision" else ""
            bars.at_least(f"images/s against {side} {title}".rstrip(), best[kind] / best[side], bar)
    bars.rss(f"peak RSS with a budget of {BUDGET} MiB", rss, BUDGET)
    return bars.status()


sys.exit(main())
