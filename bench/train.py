"""Runs bench_train and PyTorch on the same work and prints ratios; bench/train.sh calls it."""

import argparse
import json
import os
import subprocess
import sys

WORK = {"gpt2": (16, "adamw", 50257), "vit_b16": (128, "adamw", 1000), "resnet50": (256, "sgd", 1000)}
# Bars of step time and peak against torch.compile's; None: reported only.
BARS = {"gpt2": (1.15, 0.60), "vit_b16": (1.15, 0.60), "resnet50": (None, 0.60)}


def last_json(command):
    done = subprocess.run(command, capture_output=True, text=True)
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return {"error": (done.stderr or done.stdout)[-400:], "code": done.returncode}


def ours(build, model, budget=None, offload=None):
    batch, optimizer, classes = WORK[model]
    command = [os.path.join(build, "bench", "bench_train"), "--model", model, "--batch", str(batch),
               "--optimizer", optimizer, "--classes", str(classes)]
    if budget is not None:
        command += ["--budget", str(int(budget))]
    if offload:
        command += ["--offload", offload]
    return last_json(command)


def torch_command(model, mode, budget=None):
    work = f"{model}:{WORK[model][0]}:{mode}" + ("" if budget is None else f":{budget}")
    return [sys.executable, "bench/train_torch.py", work]


def torch(model, mode, budget=None):
    return last_json(torch_command(model, mode, budget))


def compile_first(model, budgets):
    """Fills torch.compile's cache for all budgets at once; what is measured later finds it there."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for process in [subprocess.Popen(torch_command(model, "warm", b), **quiet) for b in budgets]:
        process.wait()


def row(name, figures):
    if "error" in figures:
        print(f"  {name:28} {figures['error']}", flush=True)
        return
    print(f"  {name:28} {figures['ms']:8.2f} ms   peak {figures['peak_mib']:8.0f} MiB"
          f"   driver {figures['driver_mib']:8.0f} MiB"
          + (f"   planned {figures['planned_ms']:.2f} ms" if "planned_ms" in figures else ""), flush=True)


def verdict(what, value, bar):
    shown = f"{what:60} {value:7.3f}"
    if bar is None:
        print(shown, flush=True)
        return True
    held = value <= bar
    print(f"{shown}   at most {bar}: {'PASS' if held else 'FAIL'}", flush=True)
    return held


def budget_for(free, peak_mib):
    """The budget in bytes under which our peak is at most `peak_mib`: what is beside it stays."""
    return int((free["total_mib"] - free["peak_mib"] + peak_mib) * 2**20)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--models", default="gpt2,vit_b16,resnet50")
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--offload", help="pinned host memory for our steps, 16GiB say")
    parser.add_argument("--sweep", action="store_true", help="budgets of both, GPT-2 and ViT")
    args = parser.parse_args()
    held = True
    for model in args.models.split(","):
        time_bar, peak_bar = BARS[model]
        print(f"\n{model}, batch {WORK[model][0]}, bf16, {WORK[model][1]}", flush=True)
        free = ours(args.build, model)
        row("ours, all of the device", free)
        if args.without_torch or "error" in free:
            held = held and "error" not in free
            continue
        compiled = torch(model, "compile")
        row("torch.compile", compiled)
        if "error" in compiled:
            continue
        for share in (0.60, 0.55):
            figures = ours(args.build, model, budget_for(free, share * compiled["peak_mib"]))
            row(f"ours, {share} of its peak", figures)
            if "error" in figures:
                held = False
                continue
            bars = (time_bar, peak_bar) if share == peak_bar else (None, None)
            held &= verdict("  step time / torch.compile's", figures["ms"] / compiled["ms"], bars[0])
            held &= verdict("  peak / torch.compile's", figures["peak_mib"] / compiled["peak_mib"], bars[1])
            held &= verdict("  |driver - planned| / max(1%, 32 MiB)",
                            abs(figures["driver_mib"] - figures["total_mib"])
                            / max(0.01 * figures["total_mib"], 32), 1)
        if not args.sweep or model == "resnet50":
            continue
        print(f"  budgets of {model}", flush=True)
        budgets = [b / 10 for b in range(0, 10, 2)]
        compile_first(model, budgets)
        sweep = [torch(model, "compile", b) for b in budgets] + [dict(compiled, budget=1.0)]
        sweep = [s for s in sweep if "error" not in s]
        for s in sweep:
            row(f"torch.compile, budget {s['budget']}", s)
        least = min(s["peak_mib"] for s in sweep)
        shares = {1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3}
        shares |= {s["peak_mib"] / compiled["peak_mib"] for s in sweep}
        for share in sorted(shares, reverse=True):
            peak = share * compiled["peak_mib"]
            figures = ours(args.build, model, budget_for(free, peak), args.offload)
            row(f"ours, {share:.3f} of compile's peak", figures)
            if "error" in figures:
                held = False
                continue
            reached = [s["ms"] for s in sweep if s["peak_mib"] <= peak + 0.5]
            if reached:
                held &= verdict("  step time / the fastest within that peak",
                                figures["ms"] / min(reached), 1.0)
            else:
                held &= verdict(f"  below its reach ({least:.0f} MiB): step time / ours without a bound",
                                figures["ms"] / free["ms"], 1.5)
    print("\nall bars hold" if held else "\nnot every bar holds")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
