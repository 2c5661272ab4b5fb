"""What a run log and its watchers cost a training run: watch.py BUILD [--turns N] [--steps N].

The same training runs without a log, with one, with `watch` on it in a terminal, with `watch --http` and a
browser's questions, with a watcher that was stopped (SIGSTOP), and with `--metrics-port` and its questions.
The ways take turns, each time in another order, so that a machine that slows down slows all of them down. Printed are
the median and the best time of a step over the turns, and the process's own CPU time, beside those without a log: the
bar is 1.01. Where single turns differ by more than that, the best ones tell most, for what others do only adds to a
time; and the CPU time of the watcher itself, as a share of what all cores had during the run, bounds what it can take.

On a machine with as many compute threads as cores a watcher's own work takes the training's time; the time shows
that, the CPU time shows what the log itself costs.
"""

import argparse
import json
import os
import pty
import random
import resource
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request

BAR = 1.01
WAYS = ("no log", "log", "log, watch", "log, watch --http", "log, watch stopped", "log, --metrics-port")


def ask(address, stop):
    """As a browser or Prometheus does, once a second."""
    while not stop.wait(1.0):
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                answer.read()
        except OSError:
            pass


class Watcher:
    """`plimsoll watch` on a terminal that is read, or one that is stopped as soon as it shows something."""

    def __init__(self, plimsoll, log, *options, stopped=False):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([plimsoll, "watch", log, *options], stdin=slave, stdout=slave, stderr=slave,
                                        env={**os.environ, "TERM": "xterm"})
        os.close(slave)
        self.seen = b""
        self.shown = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.stopped = stopped
        if stopped:
            self.shown.wait(10)
            self.process.send_signal(signal.SIGSTOP)

    def read(self):
        while True:
            try:
                part = os.read(self.master, 1 << 16)
            except OSError:
                return
            if not part:
                return
            self.seen = (self.seen + part)[-100_000:]
            self.shown.set()

    def address(self):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            for line in self.seen.decode(errors="replace").splitlines():
                if line.startswith("live page: "):
                    return line.split()[-1]
            time.sleep(0.02)
        raise SystemExit("watch --http prints no address")

    def cpu(self):
        """Seconds of CPU time that it has used."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        if self.stopped:
            self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait()
        os.close(self.master)


def one(plimsoll, way, arguments, folder):
    """Seconds and CPU seconds of a step; the watcher's share of all cores."""
    log = os.path.join(folder, "run.jsonl")
    if os.path.exists(log):
        os.remove(log)
    command = [plimsoll, "train", *arguments, "--quiet", "--json"]
    if way != "no log":
        command += ["--log", log]
    port = random.randrange(20000, 60000)
    if way.endswith("--metrics-port"):
        command += ["--metrics-port", str(port)]
    stop = threading.Event()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    watcher = asker = None
    if "watch" in way:
        while not os.path.exists(log):
            time.sleep(0.005)
        watcher = Watcher(plimsoll, log, *(["--http"] if way.endswith("--http") else []), stopped=way.endswith("stopped"))
    address = watcher.address() + "data.json" if way.endswith("--http") else f"http://127.0.0.1:{port}/metrics" if way.endswith("port") else None
    if address:
        asker = threading.Thread(target=ask, args=(address, stop), daemon=True)
        asker.start()
    output, _ = run.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    stop.set()
    watched = 0.0
    if watcher:
        watched = watcher.cpu()
        watcher.end()
    if asker:
        asker.join()
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)} exits {run.returncode}")
    result = json.loads(output.splitlines()[-1])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result["seconds"] / result["steps"], cpu / result["steps"], watched / result["seconds"] / os.cpu_count()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--batch", default="64")
    options = parser.parse_args()
    plimsoll = os.path.join(options.build, "bin", "plimsoll")
    arguments = ["--model", options.model, "--batch", options.batch, "--steps", str(options.steps)]
    times = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        one(plimsoll, "log", arguments, folder)  # warm
        for turn in range(options.turns):
            order = list(WAYS)
            random.Random(turn).shuffle(order)
            for way in order:
                times[way].append(one(plimsoll, way, arguments, folder))
    base = [statistics.median(each[i] for each in times["no log"]) for i in (0, 1)]
    base_best = min(each[0] for each in times["no log"])
    print(f"{options.model}, batch {options.batch}, {options.steps} steps, {options.turns} turns, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'way':<22} {'step':>10} {'/ no log':>9} {'best':>7} {'each turn':>18} {'CPU / no log':>13} {'watcher':>8}")
    for way, each in times.items():
        wall, cpu = (statistics.median(pair[i] for pair in each) for i in (0, 1))
        paired = sorted(pair[0] / beside[0] for pair, beside in zip(each, times["no log"]))
        print(f"{way:<22} {wall * 1e6:>7.1f} us {wall / base[0]:>9.4f} {min(pair[0] for pair in each) / base_best:>7.4f} {f'{paired[0]:.3f} to {paired[-1]:.3f}':>18} {cpu / base[1]:>13.4f} {statistics.median(pair[2] for pair in each):>8.2%}")
    print(f"bar: {BAR}")


main()
