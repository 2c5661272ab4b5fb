#!/usr/bin/env python3
"""Training steps beside TensorFlow's: bench/ops.py BUILD [--without-tensorflow] [MODEL ...]

Three processes a model (Plimsoll's tape, Plimsoll's plan, TensorFlow) are at work in turns; while
one works the others wait for their input. Times are of a step after the first turn, which warms
up. The bar is the clock's, on cores that nobody else uses: a turn counts for it only if other
processes left all but a little of the cores that the threads need, and without such turns the bar
is UNSETTLED, which is no pass. The processor's time is that of all threads of the process; it
stands beside, does not see work that waits for another thread, and of single steps of a few
milliseconds is coarse; bench/busy.py measures on busy cores. Memory is counted from before a model
is made to the most there was: for Plimsoll and TensorFlow as the system counts it (RSS), for
Plimsoll also what its arena had mapped. bench/layers.sh runs it with models of recurrent and encoder
layers, in sizes of one's choice.
"""

import argparse
import json
import os
import statistics
import sys

from sides import plimsoll, tensorflow

MODELS = ("lenet", "resnet18", "transformer")
TIME_BAR, MEMORY_BAR = 1.1, 1.0
QUIET = 0.15  # cores that others may have in a turn that counts

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
parser.add_argument("--threads", type=int, default=min(2, len(os.sched_getaffinity(0))))
parser.add_argument("--turns", type=int, default=7)
parser.add_argument("--without-tensorflow", action="store_true")
options = parser.parse_intermixed_args()


def measure(model):
    sides = {mode: plimsoll(options.build, model, mode, options.threads)
             for mode in ("eager", "planned")}
    if not options.without_tensorflow:
        sides["TensorFlow"] = tensorflow(model, options.threads)
    for side in sides.values():
        side.steps(4)
    # About half a second a turn, by what a step takes when it is warm.
    least = min(min(side.last["wall"]) for side in sides.values())
    count = max(2, min(50, round(0.5 / least)))
    spare = len(os.sched_getaffinity(0)) - options.threads
    others = [max(side.turn(count) for side in sides.values()) for _ in range(options.turns)]
    quiet = [i for i, cores in enumerate(others) if cores <= spare + QUIET]
    for side in sides.values():
        side.close()
    sizes = {side.last["parameters"] for side in sides.values()}
    if max(sizes) > 1.001 * min(sizes):  # Keras's LSTM has one bias where PyTorch's has two
        sys.exit(f"[ops.py] the sides train different models: {sizes} parameters")
    return sides, others, quiet


def figures(side, turns):
    wall, cpu = side.times("wall", turns), side.times("cpu", turns)
    return {"wall": min(wall), "wall_median": statistics.median(wall),
            "cpu": min(cpu), "cpu_median": statistics.median(cpu),
            "cores": sum(cpu) / sum(wall),
            **{key: side.last[key] for key in ("mapped", "live", "rss") if key in side.last}}


COLUMNS = (("wall", "ms, least"), ("wall_median", "median"), ("cpu", "cpu ms, least"),
           ("cpu_median", "median"))
print(f"{options.threads} threads; in brackets the ratio to TensorFlow, at most {TIME_BAR} of time "
      f"and {MEMORY_BAR} of RSS")
report, holds = {}, True
for model in options.models:
    measured, others, quiet = measure(model)
    counted = quiet or range(options.turns)
    sides = {name: figures(side, counted) for name, side in measured.items()}
    report[model] = sides
    peer = sides.get("TensorFlow")
    print(f"\n{model:<12}" + "".join(f"{title:>20}" for _, title in COLUMNS) +
          f"{'cores':>7}{'mapped MiB':>12}{'RSS MiB':>16}")
    for name, side in sides.items():
        line = f"{name:<12}"
        for key, _ in COLUMNS:
            ratio = f"({side[key] / peer[key]:.2f})" if peer else ""
            line += f"{side[key] * 1e3:>12.2f} {ratio:>7}"
        mapped = f"{side['mapped'] / 2**20:.0f}" if "mapped" in side else "-"
        ratio = f"({side['rss'] / peer['rss']:.2f})" if peer else ""
        print(f"{line}{side['cores']:>7.2f}{mapped:>12}{side['rss'] / 2**20:>9.0f} {ratio:>6}", flush=True)
    print(f"{len(quiet)} of {options.turns} turns were quiet; others had "
          f"{min(others):.2f} to {max(others):.2f} cores")
    if peer:
        eager = sides["eager"]
        verdicts = ["UNSETTLED" if not quiet else
                    "PASS" if eager[key] <= TIME_BAR * peer[key] else "FAIL"
                    for key in ("wall", "wall_median")]
        verdicts.append("PASS" if eager["rss"] <= MEMORY_BAR * peer["rss"] else "FAIL")
        holds = holds and verdicts == ["PASS"] * 3
        print("{}: time, least {}, median {}; memory {}".format(model, *verdicts), flush=True)
print(json.dumps(report))
sys.exit(not holds)
