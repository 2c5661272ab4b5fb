"""A long run log, for tests: report_log.py STEPS. Every tenth step has a line of memory."""

import json
import random
import sys

random.seed(21)
steps = int(sys.argv[1])


def line(time, event, **fields):
    print(json.dumps({"time": round(time, 6), "event": event, **fields}, separators=(",", ":")))


line(0, "run", format=2, plimsoll="0.1.0", began=1700000000.0, pid=1, host="nowhere", command=["plimsoll", "train"])
line(0.1, "begin", device="cpu:0", budget=1 << 30, planned_peak=1 << 28, step=0, epoch=0, batch=32, parts=1, epoch_steps=1000, total_steps=steps)
tags = ["parameters", "optimizer", "activations", "workspace", "input", "decode", "prefetch", "user"]
for i, tag in enumerate(tags):
    line(0.1, "holder", id=i, device="cpu:0", budget="cpu:0/training", tag=tag, label="a label of " + tag)
peak = 0
for step in range(1, steps + 1):
    time = step * 0.01
    if step % 10 == 0:
        held = [value for i in range(8) for value in (i, random.randrange(1 << 20, 1 << 26))]
        used = sum(held[1::2]) + 4096
        peak = max(peak, used)
        line(time, "memory", device="cpu:0", used=used, limit=1 << 30, peak=peak, system=used + (50 << 20), holders=held)
    line(time, "step", step=step, loss=3 / (1 + step / 5000) + random.random() * 0.3, accuracy=random.random(), used=peak, lr=0.001, seconds=0.008, waited=0.001, elements=32, epoch=step // 1000)
    if step % 1000 == 0:
        line(time, "epoch", epoch=step // 1000, step=step)
        line(time, "metric", epoch=step // 1000, name="validation_accuracy", value=random.random())
line(steps * 0.01 + 1, "end", steps=steps, epochs=steps // 1000, seconds=steps * 0.01, planned_peak=1 << 28, measured_peak=1 << 28, charged_peak=peak, peak_limit=1 << 30, measured_seconds_per_step=0.008, stopped="")
