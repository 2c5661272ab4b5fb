"""Runs the sides of `./dev bench records` by turns and holds ratios against their bars. See
bench/records.sh.
"""

import argparse
import subprocess
import sys

from bars import Bars

TF = ".venv-tf/bin/python"


def values(command):
    """What a side prints: a name and a number per line."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--count", type=int, default=100_000, help="small Examples")
    parser.add_argument("--budget", type=int, default=256, help="MiB")
    options = parser.parse_args()
    bars = Bars()
    pictures = f"{options.folder}/pictures"
    subprocess.run([f"{options.build}/bench/bench_data_images", "--folder", pictures, "--images", "500",
                    "--rounds", "1", "--json"], check=True, capture_output=True)
    ours = [f"{options.build}/bench/bench_records", "--folder", options.folder, "--pictures", pictures,
            "--count", str(options.count), "--budget", str(options.budget)]
    theirs = [TF, "bench/records_tf.py", f"{options.folder}/small/shard-00000.tfrecord"]
    try:
        subprocess.run([TF, "-c", "import tensorflow"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        theirs = None
        bars.leave_out("tf.data", f"{TF} has no tensorflow")

    best = {}
    for turn in range(options.turns):
        found = values(ours)
        if theirs:
            found.update(values(theirs))
        for name, value in found.items():
            best[name] = max(best.get(name, 0.0), value)
            print(f"turn {turn + 1}  {name:<26}{value:>16,.0f}", flush=True)
    for title, a, b, bar in (
        ("Examples/s against parse_single_example", "parsed_batched", "tf_parse_single_example", 5),
        ("Examples/s against parse_example on batches", "parsed_batched", "tf_parse_example", 1.5),
        ("bytes/s of records, checked, against read()", "raw_bytes", "read_bytes", 0.8),
        ("images/s of a second epoch from the cache, to decoding", "cached", "decoded", 2.5),
    ):
        if a in best and b in best:
            bars.at_least(title, best[a] / best[b], bar)
    print(f"bytes/s of records against read(), by processor time{'':<7}"
          f"{best['raw_bytes_by_cpu'] / best['read_bytes_by_cpu']:>8.2f}")
    bars.rss(f"peak RSS with a budget of {options.budget} MiB", best["rss_peak"], options.budget)
    return bars.status()


sys.exit(main())
