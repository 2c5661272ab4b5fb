#!/usr/bin/env python3
"""Training steps beside TensorFlow's: bench/ops.py BUILD [--without-tensorflow] [MODEL ...]

Three processes a model (Plimsoll's tape, Plimsoll's plan, TensorFlow) are at work in turns; while
one works the others wait for their input. Times are of a step after the first turn, which warms
up. The bar is the clock's, on cores that nobody else uses: a turn counts for it only if other
processes left all but a little of the cores that the threads need, and without such turns the bar
is UNSETTLED, which is no pass. The processor's time is that of all threads of the process; it
stands beside, for busy machines, does not see work that waits for another thread, and of single
steps of a few milliseconds is coarse. With --wait-policy active the side that waits for its turn
spins and takes a core from the others, so that nothing can be settled. Memory is counted from before a model is made to the most there was: for
Plimsoll and TensorFlow as the system counts it (RSS), for Plimsoll also what its arena had mapped.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

MODELS = ("lenet", "resnet18", "transformer")
TIME_BAR, MEMORY_BAR = 1.1, 1.0
QUIET = 0.15  # cores that others may have in a turn that counts

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
parser.add_argument("--threads", type=int, default=min(2, len(os.sched_getaffinity(0))))
parser.add_argument("--turns", type=int, default=7)
parser.add_argument("--wait-policy", choices=("passive", "active", "default"), default="passive",
                    help="OpenMP's, of Plimsoll's processes: whether threads without work spin")
parser.add_argument("--without-tensorflow", action="store_true")
options = parser.parse_intermixed_args()


def busy_seconds():
    """Of all cores since the machine started, what a hypervisor took included."""
    with open("/proc/stat") as lines:
        user, nice, system, _, _, irq, soft, steal = map(int, next(lines).split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


class Side:
    """One process, asked for steps."""

    def __init__(self, command, **environment):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env=os.environ | {"OMP_NUM_THREADS": str(options.threads)} | environment)
        self.command, self.turns, self.last = " ".join(command), [], {}

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
        """Takes steps; returns how many cores others had meanwhile."""
        at, busy = time.perf_counter(), busy_seconds()
        result = self.steps(count)
        seconds = time.perf_counter() - at
        self.turns.append(result)
        return max(0.0, busy_seconds() - busy - sum(result["cpu"])) / seconds

    def times(self, key, turns):
        return [seconds for i in turns for seconds in self.turns[i][key]]

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
    # About half a second a turn, by what a step takes when it is warm.
    least = min(min(side.last["wall"]) for side in sides.values())
    count = max(2, min(50, round(0.5 / least)))
    spare = len(os.sched_getaffinity(0)) - options.threads
    others = [max(side.turn(count) for side in sides.values()) for _ in range(options.turns)]
    quiet = [i for i, cores in enumerate(others) if cores <= spare + QUIET]
    for side in sides.values():
        side.close()
    sizes = {side.last["parameters"] for side in sides.values()}
    if len(sizes) > 1:
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
print(f"{options.threads} threads, OMP_WAIT_POLICY={options.wait_policy}; in brackets the ratio "
      f"to TensorFlow, at most {TIME_BAR} of time and {MEMORY_BAR} of RSS")
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
