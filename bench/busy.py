#!/usr/bin/env python3
"""Training on a machine that others use as well: bench/busy.py BUILD [OPTION ...] [MODEL ...]

First `plimsoll train` alone and two of them at once, in turns: the bar is 2.5 times the time of one.
Then steps of each model, alone and beside a process that keeps as many cores busy as there are
threads, in turns with TensorFlow's: beside it the bar is 1.2 of TensorFlow's time. A turn's figure is
its mean step, as a step that nobody interrupted says nothing here; of turns the best and the median
are shown. With --against another build (one from before a change, say) is measured in the same turns.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

from sides import plimsoll, tensorflow

MODELS = ("lenet", "resnet18", "transformer")
PAIR_BAR, STEP_BAR = 2.5, 1.2

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
parser.add_argument("--against", metavar="BUILD", help="another build to compare with")
parser.add_argument("--threads", type=int, default=min(2, len(os.sched_getaffinity(0))))
parser.add_argument("--turns", type=int, default=5)
parser.add_argument("--without-tensorflow", action="store_true")
parser.add_argument("--without-pairs", action="store_true", help="leave out two runs at once")
options = parser.parse_intermixed_args()

environment = {key: value for key, value in os.environ.items()
               if not key.startswith(("OMP_", "GOMP_", "KMP_"))}
builds = {"this": options.build} | ({"other": options.against} if options.against else {})


class Others:
    """A process with a thread for each core that Plimsoll's threads would like to have."""

    def __enter__(self):
        program = "import os\nfor _ in range({}): os.fork()\nwhile True: pass".format(
            (options.threads - 1).bit_length())
        # A group that can be ended as a whole, in this session: schedulers that share cores among
        # sessions first would keep the two apart.
        self.process = subprocess.Popen([sys.executable, "-c", program], process_group=0)

    def __exit__(self, *_):
        os.killpg(self.process.pid, 9)
        self.process.wait()


def trainings(build, count):
    """Seconds until `count` runs that begin together have ended."""
    at = time.perf_counter()
    runs = [subprocess.Popen([f"{build}/bin/plimsoll", "train", "--epochs", "4", "--quiet"],
                             stdout=subprocess.DEVNULL, env=environment) for _ in range(count)]
    if any(run.wait() for run in runs):
        sys.exit("[busy.py] plimsoll train failed")
    return time.perf_counter() - at


def pairs():
    times = {(name, count): [] for name in builds for count in (1, 2)}
    for _ in range(options.turns):
        for name, count in times:
            times[name, count].append(trainings(builds[name], count))
    holds = True
    for name in builds:
        one, two = (times[name, count] for count in (1, 2))
        ratio = min(two) / min(one)
        holds = holds and (name != "this" or ratio <= PAIR_BAR)
        print(f"plimsoll train, {name}: one {min(one):.2f} s, two at once {min(two):.2f} s, ratio "
              f"{ratio:.2f} (medians {statistics.median(two) / statistics.median(one):.2f}); "
              f"at most {PAIR_BAR}", flush=True)
    return holds


def turns_of(sides, count):
    """The mean step of each turn, by side."""
    means = {name: [] for name in sides}
    for _ in range(options.turns):
        for name, side in sides.items():
            means[name].append(statistics.fmean(side.steps(count)["wall"]))
    return means


def show(situation, means):
    peer = means.get("TensorFlow")
    for name, values in means.items():
        line = f"  {situation:<8}{name:<16}{min(values) * 1e3:>10.2f}{statistics.median(values) * 1e3:>10.2f} ms"
        if peer:
            line += (f"   {min(values) / min(peer):.2f} and "
                     f"{statistics.median(values) / statistics.median(peer):.2f} of TensorFlow's")
        if "other" in name or not options.against or name == "TensorFlow":
            print(line, flush=True)
            continue
        other = means[name.replace("this", "other")]
        print(f"{line}   {min(values) / min(other):.2f} and "
              f"{statistics.median(values) / statistics.median(other):.2f} of the other build's",
              flush=True)
    if not peer or situation == "alone":
        return True
    return all(statistics.median(values) <= STEP_BAR * statistics.median(peer)
               for name, values in means.items() if name.startswith("this"))


def measure(model):
    sides = {f"{name} {mode}": plimsoll(build, model, mode, options.threads)
             for name, build in builds.items() for mode in ("eager", "planned")}
    if not options.without_tensorflow:
        sides["TensorFlow"] = tensorflow(model, options.threads)
    for side in sides.values():
        side.steps(4)
    # About half a second a turn, by what a step takes when it is warm.
    least = min(min(side.last["wall"]) for side in sides.values())
    count = max(3, min(100, round(0.5 / least)))
    print(f"{model}: mean step of a turn, least and median of {options.turns}")
    holds = show("alone", turns_of(sides, count))
    with Others():
        holds = show("beside", turns_of(sides, count)) and holds
    for side in sides.values():
        side.close()
    return holds


results = [options.without_pairs or pairs()] + [measure(model) for model in options.models]
print("PASS" if all(results) else "FAIL")
sys.exit(not all(results))
