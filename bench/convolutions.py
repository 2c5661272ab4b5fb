#!/usr/bin/env python3
"""Convolutions of random shapes beside PyTorch: bench/convolutions.py BUILD [OPTION...]

Shapes are log-uniform: 1 to 2048 channels, groups, strides, dilations, oblong windows, odd sizes;
operands of at most 2 GiB, 10 TFLOP. Both sides are CUDA graphs, PyTorch deterministic and channels
last. Prints for each pass the quantiles of our time to PyTorch's (bars: median 1.10, 90% 1.5, none
above 4), the worst, and how far predictions are off.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import convolution_shapes  # noqa: E402
from convolution_shapes import Convolution  # noqa: E402

PASSES = ("forward", "by_input", "by_weight")
MEDIAN, NINE_OF_TEN, WORST = 1.10, 1.5, 4.0

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--seed", default="1", help="another one gives other shapes; 'fresh': the clock's")
parser.add_argument("--count", type=int, default=200)
parser.add_argument("--precision", nargs="*", default=["bf16"])
parser.add_argument("--shapes", metavar="FILE", help="those of a file, a line each, as bench_convolutions reads them")
parser.add_argument("--resnet50", type=int, metavar="BATCH", help="its convolutions instead")
parser.add_argument("--channels-first", action="store_true", help="ours; PyTorch has them last")
parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
parser.add_argument("--worst", type=int, default=12)
parser.add_argument("--out", help="a line of JSON for each shape")
parser.add_argument("--without-torch", action="store_true")
parser.add_argument("--without-ours", action="store_true")
options = parser.parse_args()
seed = str(time.time_ns()) if options.seed == "fresh" else options.seed
began = time.monotonic()

if not options.without_torch:
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    import torch
    from graph_time import graph_us

    torch.use_deterministic_algorithms(True, warn_only=True)


def torch_us(c: Convolution) -> dict[str, float]:
    """PyTorch's microseconds of each pass."""
    torch.backends.cudnn.allow_tf32 = c.precision == "tf32"
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}.get(c.precision, torch.float32)
    top, bottom, left, right = c.padding
    if (top, left) != (bottom, right):
        raise ValueError("PyTorch has no such padding")
    rows, columns = c.out_size()

    def tensor(*extents: int) -> Any:
        return torch.randn(*extents, device="cuda", dtype=dtype).contiguous(
            memory_format=torch.channels_last
        )

    x = tensor(c.n, c.inputs, c.height, c.width)
    w = tensor(c.outputs, c.inputs // c.groups, *c.kernel)
    y = tensor(c.n, c.outputs, rows, columns)
    rest = ([*c.stride], [top, left], [*c.dilation], False, [0, 0], c.groups)

    def back(of_x: bool) -> Any:
        return torch.ops.aten.convolution_backward(y, x, w, None, *rest, [of_x, not of_x, False])

    return {
        "forward": graph_us(lambda: torch.ops.aten.convolution(x, w, None, *rest)),
        "by_input": graph_us(lambda: back(True)),
        "by_weight": graph_us(lambda: back(False)),
    }


def ask(program: subprocess.Popen[str] | None, c: Convolution) -> dict[str, Any]:
    if program is None:
        return {}
    assert program.stdin is not None and program.stdout is not None
    program.stdin.write(c.line() + "\n")
    program.stdin.flush()
    answer = program.stdout.readline()
    if not answer:
        sys.exit(f"bench_convolutions ended at: {c.line()}")
    reply: dict[str, Any] = json.loads(answer)
    return reply


def work() -> list[Convolution]:
    found: list[Convolution] = []
    if options.shapes:
        with open(options.shapes, encoding="utf-8") as lines:
            return [convolution_shapes.parse(line) for line in lines if line.strip()]
    for precision in options.precision:
        nhwc = 0 if options.channels_first else 1
        if options.resnet50:
            found += convolution_shapes.resnet50(options.resnet50, precision, nhwc)
        else:
            found += convolution_shapes.draw(seed, options.count, precision, nhwc)
    return found


def quantile(values: list[float], q: float) -> float:
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


def report(rows: list[dict[str, Any]], name: str) -> None:
    """A pass's quantiles and its worst."""
    mine = [r for r in rows if name in r]
    if not mine:
        return
    off = [r[name]["predicted"] / r[name]["us"] for r in mine]
    near = sum(1 for o in off if 1 / 1.3 <= o <= 1.3) / len(off)
    print(
        f"  {name}: {sum(1 for r in mine if r[name]['errors'] >= 0)} of {len(mine)} looked at; "
        f"predicted within 30%: {near:.0%}, predicted/taken from {quantile(off, 0.05):.2f} to "
        f"{quantile(off, 0.95):.2f}"
    )
    both = [r for r in mine if "torch" in r]
    if not both:
        return
    ratios = [r[name]["us"] / r["torch"][name] for r in both]
    found = (quantile(ratios, 0.5), quantile(ratios, 0.9), max(ratios))
    holds = all(a <= b for a, b in zip(found, (MEDIAN, NINE_OF_TEN, WORST)))
    print(
        f"  {name} to PyTorch's time: median {found[0]:.2f}, 90% {found[1]:.2f}, worst "
        f"{found[2]:.2f}: {'holds' if holds else 'MISSED'}"
    )
    for r in sorted(both, key=lambda r: -r[name]["us"] / r["torch"][name])[: options.worst]:
        print(
            f"    {r[name]['us'] / r['torch'][name]:6.2f} {r[name]['us']:10.1f} us, PyTorch "
            f"{r['torch'][name]:10.1f}, predicted {r[name]['predicted']:10.1f} "
            f"{r[name]['kernel']} x{r[name]['parts']}  {r['shape']}"
        )


program = (
    None
    if options.without_ours
    else subprocess.Popen(
        [f"{options.build}/bench/bench_convolutions"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
)
rows: list[dict[str, Any]] = []
out = open(options.out, "w") if options.out else None
for each in work():
    if time.monotonic() - began > options.seconds:
        print(f"stopped after {len(rows)} shapes")
        break
    row: dict[str, Any] = {"shape": each.line(), **ask(program, each)}
    if not options.without_torch and "error" not in row:
        try:
            row["torch"] = torch_us(each)
        except Exception as error:  # noqa: BLE001
            row["torch_error"] = str(error)[:200]
        torch.cuda.empty_cache()
    rows.append(row)
    if out:
        out.write(json.dumps(row) + "\n")
        out.flush()
if program is not None and program.stdin is not None:
    program.stdin.close()

print(f"seed {seed}")
for row in rows:
    if "error" in row or "torch_error" in row:
        print("ERROR", row["shape"], row.get("error") or row["torch_error"])
    for name in PASSES:
        if name in row and (row[name]["errors"] > 0 or not row[name]["within"]):
            print("WRONG", name, row)
for precision in options.precision:
    of_it = [r for r in rows if r["shape"].startswith(precision + " ")]
    print(f"{precision}: {len(of_it)} convolutions")
    for name in PASSES:
        report(of_it, name)
