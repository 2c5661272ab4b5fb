"""Runs both sides of `./dev bench data` by turns and prints ratios. See bench/data.sh."""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys

MIB = 1 << 20


def output(command, check=True):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if check and done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return done.stdout + ("" if check else done.stderr)


def last_json(command):
    return json.loads(output(command).splitlines()[-1])


class Bench:
    def __init__(self, options):
        self.options = options
        self.holds = True
        self.threads = len(os.sched_getaffinity(0))

    def program(self, name):
        return f"{self.options.build}/{name}"

    def tf(self, *arguments):
        return last_json([".venv-tf/bin/python", "bench/data_tf.py", *arguments])

    def ours(self, dct, budget):
        """One run of the command; CPU time is the whole process's."""
        command = [self.program("bin/plimsoll"), "data", "bench", self.options.folder, "--json",
                   "--dct", dct, "--budget", budget, "--epochs", self.options.epochs]
        before = os.times()
        result = last_json(command)
        after = os.times()
        cpu = after.children_user + after.children_system
        cpu -= before.children_user + before.children_system
        return {"wall": result["images_per_second"], "cpu": result["images"] / cpu,
                "rss_peak": result["rss_peak"]}

    def pictures(self, *arguments):
        return last_json([self.program("bench/bench_data_images"), "--folder", self.options.folder,
                          "--images", self.options.images, "--threads", self.threads, "--json",
                          *arguments])

    def row(self, title, value, bar=None, at_most=False, form="{:.3f}"):
        text = f"{title:<58}{form.format(value):>12}"
        if bar is not None:
            good = value <= bar if at_most else value >= bar
            self.holds = self.holds and good
            text += f"   {'at most' if at_most else 'at least'} {bar}: {'PASS' if good else 'FAIL'}"
        print(text, flush=True)

    def images(self, dct):
        """Ours, tf.data's and decoding alone by turns; the best of each, and medians of ratios."""
        tensorflow = not self.options.without_tensorflow
        turns = []
        for _ in range(self.options.turns):
            turn = {"ours": self.ours(dct, "1024MiB")}
            if tensorflow:
                turn["tf"] = self.tf("images", self.options.folder, dct, self.options.epochs)
            turn["alone"] = self.pictures("--dct", dct, "--rounds", 1)["alone"]
            turns.append(turn)

        def best(side, key):
            return max(turn[side][key] for turn in turns)

        print(f"\n{self.options.images} JPEGs of 500x375 to 224x224, batch 128, dct {dct}, "
              f"{self.threads} threads, {len(turns)} turns")
        for side in turns[0]:
            print(f"  {side:<8}{best(side, 'wall'):>9.0f} images/s{best(side, 'cpu'):>9.0f} per CPU second")
        # A busy machine's clock is others' business, too; processor time is not.
        for key, name in (("wall", "clock"), ("cpu", "CPU time")):
            def ratio(a, b):
                return best(a, key) / best(b, key)

            def middle(a, b):
                return statistics.median(turn[a][key] / turn[b][key] for turn in turns)
            if tensorflow:
                self.row(f"ours / tf.data, {name}, best", ratio("ours", "tf"), 1.4)
                self.row(f"ours / tf.data, {name}, median of turns", middle("ours", "tf"))
                self.row(f"tf.data / decode alone, {name}, best", ratio("tf", "alone"))
            self.row(f"ours / decode alone, {name}, best", ratio("ours", "alone"), 0.9)
            self.row(f"ours / decode alone, {name}, median of turns", middle("ours", "alone"))
        rss = max(turn["ours"]["rss_peak"] for turn in turns)
        self.row("ours: peak RSS at 1024 MiB, MiB", rss / MIB, 1024 + 64, True, "{:.0f}")
        if not tensorflow:
            return None
        self.row("tf.data: peak RSS, MiB", max(turn["tf"]["rss_peak"] for turn in turns) / MIB,
                 form="{:.0f}")
        growth = max(turn["tf"]["rss_peak"] - turn["tf"]["rss_before"] for turn in turns)
        self.row("tf.data: growth of RSS, MiB", growth / MIB, form="{:.0f}")
        return growth

    def minimum(self):
        text = output([self.program("bin/plimsoll"), "data", "bench", self.options.folder,
                       "--budget", "1MiB"], check=False)
        number, unit = re.search(r"raise the budget to (\d+)(KiB|MiB|GiB)?", text).groups()
        return int(number) * {None: 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]

    def quarter(self, growth):
        budget = max(growth // 4, self.minimum())
        turns = []
        for _ in range(self.options.turns):
            turns.append((self.ours("fast", str(budget)), self.ours("fast", "1024MiB")))
        print(f"\nWith a quarter of tf.data's growth, or the minimum: {budget / MIB:.0f} MiB")
        for key, name in (("wall", "clock"), ("cpu", "CPU time")):
            small, large = (max(turn[i][key] for turn in turns) for i in (0, 1))
            self.row(f"rate there / rate at 1024 MiB, {name}", small / large, 0.9)
        rss = max(turn[0]["rss_peak"] for turn in turns)
        self.row("peak RSS, MiB", rss / MIB, budget / MIB + 64, True, "{:.0f}")

    def small(self):
        """tf.data's map in sequence and with AUTOTUNE: the better of the two is the peer."""
        turns = []
        for _ in range(self.options.turns):
            turn = {"ours": last_json([self.program("bench/bench_data_small"), "--json",
                                       "--elements", self.options.elements])}
            for kind in () if self.options.without_tensorflow else ("sequential", "parallel"):
                # Its rate does not depend on how many there are; ten million take minutes.
                turn[f"tf.data, {kind} map"] = self.tf("small", self.options.tf_elements, kind)
            turns.append(turn)

        def best(side, key):
            return max(turn[side][key] for turn in turns)

        print(f"\nrange({self.options.elements}).shuffle(100000).map(+1).batch(256)")
        for side in turns[0]:
            print(f"  {side:<26}{best(side, 'wall') / 1e6:>8.3f} million elements/s"
                  f"{best(side, 'cpu') / 1e6:>8.3f} per CPU second")
        peers = list(turns[0])[1:]
        for key, name in (("wall", "clock"), ("cpu", "CPU time")):
            if peers:
                self.row(f"ours / tf.data's better, {name}",
                         best("ours", key) / max(best(peer, key) for peer in peers), 5)

    def scaled(self):
        print("\nScaled decoding of large JPEGs, CPU time of one thread, against decoding alone")
        text = output([self.program("bench/bench_data_decode"), "--only", "4:2:0 q90 textured",
                       "--rounds", self.options.turns])
        for line in text.splitlines():
            match = re.match(r"(\d+)x(\d+) 4:2:0 q90 textured +\d+ .*\| +[\d.]+ +([\d.]+) +(\d+)$", line)
            if match:
                width, height, ratio, eighths = (float(part) for part in match.groups())
                large = min(width, height) >= 4 * 224
                self.row(f"{width:.0f}x{height:.0f}, decoded at {eighths:.0f}/8", ratio,
                         1.4 if large else None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--without-tensorflow", action="store_true")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--elements", type=int, default=10_000_000)
    parser.add_argument("--tf-elements", type=int, default=300_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default="images quarter small scaled", help="parts of it")
    bench = Bench(parser.parse_args())
    parts = bench.options.only.split()
    print(f"{platform.platform()}, {bench.threads} processors, load {os.getloadavg()[0]:.1f}")
    bench.pictures("--rounds", 1)
    growth = None
    if "images" in parts:
        growth = [bench.images(dct) for dct in ("accurate", "fast")][-1]
    if "quarter" in parts:
        bench.quarter(growth or 0)
    if "small" in parts:
        bench.small()
    if "scaled" in parts:
        bench.scaled()
    print("\nall bars hold" if bench.holds else "\nsome bars do not hold")
    sys.exit(not bench.holds)


main()
