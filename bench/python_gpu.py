"""What Python adds to a training step on a GPU: GPT-2 small, 16 x 1024 tokens, bf16, beside the same in C++.

bench/python_gpu.py BENCH_TRAIN [TURNS] takes turns, each in a process of its own. Bar: 3%."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

import plimsoll as pm

BATCH, TOKENS, STEPS = 16, 1024, 15


def step_ms() -> float:
    """A step in Python that is waited for, the median."""
    gpu = pm.device("cuda:0")
    trainer = pm.Trainer(pm.nn.gpt2(dropout=0), optimizer=pm.optim.adamw(1e-3, weight_decay=0.01), precision="bf16", device=gpu)
    ids = pm.cast(pm.random_uniform((BATCH, TOKENS), 0, 50000, device=gpu), pm.i64)
    plan = trainer.plan(batch=BATCH)
    for _ in range(6):
        trainer.step(plan, ids, ids)
    trainer.loss()
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        trainer.step(plan, ids, ids)
        trainer.loss()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def main() -> int:
    if sys.argv[1] == "--one":
        print(step_ms())
        return 0
    ours = [sys.executable, __file__, "--one"]
    theirs = [sys.argv[1], "--model", "gpt2", "--batch", str(BATCH), "--classes", "50257", "--precision", "bf16"]
    ratios = []
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
        a = float(subprocess.run(ours, capture_output=True, text=True, check=True).stdout)
        lines = subprocess.run(theirs, capture_output=True, text=True, check=True).stdout.splitlines()
        b = float(json.loads(lines[-1])["ms"])
        ratios.append(a / b)
        print(f"Python {a:.2f} ms, C++ {b:.2f} ms", flush=True)
    ratio = statistics.median(ratios)
    print(f"a step takes {ratio:.3f} of that in C++ (at most 1.03): {'PASS' if ratio <= 1.03 else 'FAIL'}")
    return 0 if ratio <= 1.03 else 1


if __name__ == "__main__":
    sys.exit(main())
