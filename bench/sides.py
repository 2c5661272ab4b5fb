"""Processes that take training steps when they are asked to, for ops.py and busy.py."""

import json
import os
import subprocess
import sys
import time


def busy_seconds():
    """Of all cores since the machine started, what a hypervisor took included."""
    with open("/proc/stat") as lines:
        user, nice, system, _, _, irq, soft, steal = map(int, next(lines).split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


class Side:
    """One process, asked for steps."""

    def __init__(self, command):
        # Nothing that would tell threads how to wait.
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("OMP_", "GOMP_", "KMP_"))}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment)
        self.command, self.turns, self.last = " ".join(command), [], {}

    def steps(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"'{self.command}' ended; run it by hand with a number of steps on its "
                     "standard input to see why")
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


def plimsoll(build, model, mode, threads):
    return Side([f"{build}/bench/bench_ops", model, mode, str(threads)])


def tensorflow(model, threads):
    return Side([".venv-tf/bin/python", "bench/ops_tf.py", model, str(threads)])
