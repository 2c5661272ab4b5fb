"""What Python adds to the same work in C++, in processor time, so that a busy machine does not
matter: bench/python.py BENCH_PROGRAM [TURNS]. The two take turns; medians of the ratios are shown.

Bars: 3% of a training step, 2 us for each element of a pipeline without Python functions, and 0.95
of the speed of a map."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

import plimsoll as pm


def seconds_of(work: Any, count: int) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) / count


def step(name: str, batch: int, count: int) -> float:
    size, channels = (28, 1) if name == "lenet" else (64, 3)
    trainer = pm.Trainer(pm.nn.make_model(name, classes=10, size=size), optimizer=pm.optim.sgd(0.01))
    x, y = pm.ones((batch, channels, size, size)), pm.zeros((batch,), dtype=pm.i64)
    plan = trainer.plan(batch=batch)

    def work() -> None:
        for _ in range(count):
            trainer.step(plan, x, y)
        trainer.loss()

    for _ in range(3):
        trainer.step(plan, x, y)
    return seconds_of(work, count)


def drain(dataset: pm.data.Dataset, count: int) -> float:
    pipeline = iter(dataset.iterate(threads=1))

    def work() -> None:
        for _ in pipeline:
            pass

    return seconds_of(work, count)


def mapped(count: int) -> pm.data.Dataset:
    pictures = pm.zeros((64, 32, 32, 3), dtype=pm.u8)
    return (
        pm.data.from_tensor_slices(pictures).repeat(count // 64)
        .map(lambda image: pm.cast(pm.image.random_flip(image), pm.f32) / 255 * 2 - 1).batch(32)
    )


def one(what: str, batch: int, count: int) -> float:
    # The limits of the other side: pipelines run as far ahead as they allow.
    pm.set_default_device(pm.device("cpu", limit="1GiB" if what in ("elements", "map") else "4GiB"))
    if what == "elements":
        return drain(pm.data.range(count), count)
    if what == "map":
        return drain(mapped(count), count)
    return step(what, batch, count)


def main() -> int:
    if sys.argv[1] == "--one":
        print(one(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
        return 0
    program, turns = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5

    def both(what: str, batch: int, count: int) -> tuple[float, float]:
        """Python's and C++'s, each in a process of its own."""
        ours = [sys.executable, __file__, "--one", what, str(batch), str(count)]
        theirs = [program, what, "--batch", str(batch), "--count", str(count)]
        first, second = (
            float(subprocess.run(each, capture_output=True, text=True, check=True).stdout) for each in (ours, theirs)
        )
        return first, second

    ok = True
    for name, batch, count in (("lenet", 32, 100), ("resnet18", 8, 5)):
        ratio = statistics.median(a / b for a, b in (both(name, batch, count) for _ in range(turns)))
        ok &= ratio <= 1.03
        print(f"{name}, batch {batch}: a step takes {ratio:.3f} of that in C++ (at most 1.03)")
    more = statistics.median(a - b for a, b in (both("elements", 1, 200_000) for _ in range(turns)))
    ok &= more <= 2e-6
    print(f"elements without Python functions: {more * 1e6:.2f} us more than in C++ (at most 2)")
    # Long enough that what a process does once is a thousandth of it.
    speed = statistics.median(b / a for a, b in (both("map", 32, 64 * 3000) for _ in range(turns)))
    ok &= speed >= 0.95
    print(f"a traced map: {speed:.3f} of the speed in C++ (at least 0.95)")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
