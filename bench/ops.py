#!/usr/bin/env python3
"""Training steps beside TensorFlow's: bench/ops.py BUILD [--without-tensorflow] [MODEL ...]

Three processes a model (Plimsoll's tape, Plimsoll's plan, TensorFlow) are at work in turns; while
one works the others wait for their input. Times are of a step after the first turn, which warms
up. The processor's time is that of all threads of the process: on a machine that others use, it
says more than the clock. Memory is counted from before a model is made to the most there was: for
Plimsoll and TensorFlow as the system counts it (RSS), for Plimsoll also what its arena had mapped.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

MODELS = ("lenet", "resnet18", "transformer")
TIME_BAR, MEMORY_BAR = 1.1, 1.0

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
parser.add_argument("--threads", type=int, default=min(2, len(os.sched_getaffinity(0))))
parser.add_argument("--turns", type=int, default=7)
parser.add_argument("--wait-policy", choices=("passive", "active", "default"), default="passive",
                    help="OpenMP's, of Plimsoll's processes: whether threads without work spin")
parser.add_argument("--without-tensorflow", action="store_true")
options = parser.parse_args()


class Side:
    """One process, asked for steps."""

    def __init__(self, command, **environment):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env=os.environ | {"OMP_NUM_THREADS": str(options.threads)} | environment)
        self.command, self.wall, self.cpu, self.last = " ".join(command), [], [], {}

    def steps(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"[ops.py] '{self.command}' ended; run it by hand with a number of steps on "
                     "its standard input to see why")
        self.last = json.loads(line)
        return self.last

    def turn(self, count):
        result = self.steps(count)
        self.wall += result["wall"]
        self.cpu += result["cpu"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(model):
    policy = {} if options.wait_policy == "default" else {"OMP_WAIT_POLICY": options.wait_policy}
    program = f"{options.build}/bench/bench_ops"
    sides = {mode: Side([program, model, mode, str(options.threads)], **policy)
             for mode in ("eager", "planned")}
    if not options.without_tensorflow:
        sides["TensorFlow"] = Side([".venv-tf/bin/python", "bench/ops_tf.py", model,
                                    str(options.threads)])
    for side in sides.values():
        side.steps(4)
    # About a second and a half a turn, by what a step takes when it is warm.
    least = min(min(side.last["wall"]) for side in sides.values())
    count = max(2, min(50, round(0.5 / least)))
    for _ in range(options.turns):
        for side in sides.values():
            side.turn(count)
    for side in sides.values():
        side.close()
    sizes = {side.last["parameters"] for side in sides.values()}
    if len(sizes) > 1:
        sys.exit(f"[ops.py] the sides train different models: {sizes} parameters")
    return sides


def figures(side):
    return {"wall": min(side.wall), "wall_median": statistics.median(side.wall),
            "cpu": min(side.cpu), "cpu_median": statistics.median(side.cpu),
            **{key: side.last[key] for key in ("mapped", "live", "rss") if key in side.last}}


COLUMNS = (("wall", "ms, least"), ("wall_median", "median"), ("cpu", "cpu ms, least"),
           ("cpu_median", "median"))
print(f"{options.threads} threads, OMP_WAIT_POLICY={options.wait_policy}; in brackets the ratio "
      f"to TensorFlow, at most {TIME_BAR} of time and {MEMORY_BAR} of RSS")
report, holds = {}, True
for model in options.models:
    sides = {name: figures(side) for name, side in measure(model).items()}
    report[model] = sides
    peer = sides.get("TensorFlow")
    print(f"\n{model:<12}" + "".join(f"{title:>20}" for _, title in COLUMNS) +
          f"{'mapped MiB':>12}{'RSS MiB':>16}")
    for name, side in sides.items():
        line = f"{name:<12}"
        for key, _ in COLUMNS:
            ratio = f"({side[key] / peer[key]:.2f})" if peer else ""
            line += f"{side[key] * 1e3:>12.2f} {ratio:>7}"
        mapped = f"{side['mapped'] / 2**20:.0f}" if "mapped" in side else "-"
        ratio = f"({side['rss'] / peer['rss']:.2f})" if peer else ""
        print(f"{line}{mapped:>12}{side['rss'] / 2**20:>9.0f} {ratio:>6}", flush=True)
    if peer:
        time_holds = min(sides["eager"][k] / peer[k] for k in ("wall", "cpu")) <= TIME_BAR
        memory_holds = sides["eager"]["rss"] <= MEMORY_BAR * peer["rss"]
        holds = holds and time_holds and memory_holds
        print(f"{model}: time {'PASS' if time_holds else 'FAIL'}, "
              f"memory {'PASS' if memory_holds else 'FAIL'}")
print(json.dumps(report))
sys.exit(not holds)
