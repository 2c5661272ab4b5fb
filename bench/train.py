"""Runs bench_train and PyTorch on the same work and prints ratios; bench/train.sh calls it."""

import argparse
import json
import os
import statistics
import subprocess
import sys

WORK = {"gpt2": (16, "adamw", 50257), "vit_b16": (128, "adamw", 1000), "resnet50": (256, "sgd", 1000),
        "unet": (32, "sgd", 2), "mixer_b16": (128, "adamw", 1000), "convnext_t": (128, "adamw", 1000),
        "bert": (32, "adamw", 30522), "llama": (16, "adamw", 32000), "lstm_lm": (64, "adamw", 10000),
        "dlrm": (2048, "sgd_plain", 100000)}
# Of the zoo: each model's and the geometric mean's time against torch.compile's, without a bound and
# at so much of its memory; and the predicted time against the measured one.
ZOO_BARS = {None: (1.10, 0.95), 0.60: (1.20, 1.02)}
ZOO_PREDICTED = 0.20
ZOO_READY = 20  # seconds from the start to the end of the first step, whatever caches have
# Models with bars of their own: time against PyTorch's without a bound, and at 0.60 of its memory against
# ours without one; predicted times may be this far off.
OWN_BARS = {"bert": 0.95, "llama": 0.95, "lstm_lm": 1.3, "dlrm": 1.0}
OWN_TIGHT = 1.10
OWN_PREDICTED = 0.25
# What is measured in PyTorch instead of torch.compile alone: the fastest that runs. cuDNN's LSTM is not
# compiled, and sparse gradients break its graphs.
MODES = {"lstm_lm": ("eager",), "dlrm": ("compile", "eager")}
# Tables of embeddings, which no plan makes smaller, are not part of what is bounded.
TABLES_MIB = {"dlrm": 26 * 100000 * 64 * 4 / 2**20}
# PyTorch's figures on a kind of GPU, by its version and by model, batch and precision. With --kept they are
# not measured again, but for the first model's, which must come within CONTROL of what was kept.
KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_figures.json")
CONTROL = 0.03
# torch.compile's activation_memory_budget, beside 1.
SWEEP = (0, 0.2, 0.4, 0.6, 0.8)
# Bars of step time and peak against torch.compile's; None: reported only.
BARS = {"gpt2": (1.15, 0.60), "vit_b16": (1.15, 0.60), "resnet50": (None, 0.60)}


def last_json(command):
    done = subprocess.run(command, capture_output=True, text=True)
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return {"error": (done.stderr or done.stdout)[-400:], "code": done.returncode}


def ours(build, model, precision, budget=None, offload=None):
    batch, optimizer, classes = WORK[model]
    command = [os.path.join(build, "bench", "bench_train"), "--model", model, "--batch", str(batch),
               "--optimizer", optimizer, "--classes", str(classes), "--precision", precision]
    if budget is not None:
        command += ["--budget", str(int(budget))]
    if offload:
        command += ["--offload", offload]
    return last_json(command)


def torch_command(model, precision, mode, budget=None):
    work = f"{model}:{WORK[model][0]}:{mode}:{precision}" + ("" if budget is None else f":{budget}")
    return [sys.executable, "bench/train_torch.py", work]


def torch(model, precision, mode, budget=None):
    return last_json(torch_command(model, precision, mode, budget))


def fastest(model, precision):
    """PyTorch in the best of the ways in which the model runs there."""
    found = [torch(model, precision, mode) for mode in MODES.get(model, ("compile",))]
    return min(found, key=lambda figures: figures.get("ms", float("inf")))


def compile_first(model, precision, budgets):
    """Fills torch.compile's cache for all budgets at once; what is measured later finds it there."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    commands = [torch_command(model, precision, "warm", b) for b in budgets]
    for process in [subprocess.Popen(command, **quiet) for command in commands]:
        process.wait()


def compile_all(models, precision):
    """Fills torch.compile's cache for all models at once."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    commands = [torch_command(model, precision, "warm") for model in models if model not in MODES]
    for process in [subprocess.Popen(command, **quiet) for command in commands]:
        process.wait()


def kept_figures():
    """What is kept of PyTorch for the GPU and the version that are here."""
    code = "import torch; print(torch.cuda.get_device_name(), torch.__version__.split('+')[0], sep=', PyTorch ')"
    here = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
    with open(KEPT, encoding="utf-8") as file:
        kept = json.load(file)
    if here not in kept:
        print(f"nothing is kept for {here or 'no PyTorch'}: all of it is measured")
    return kept.get(here, {})


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
    """The budget in bytes under which our peak, all tags but `runtime`, is at most `peak_mib`."""
    return int((free["runtime_mib"] + peak_mib) * 2**20)


def check(figures, budget, free):
    """What must hold of every run of ours: planned as the driver sees it, never above the budget, the
    same numbers however little memory there is."""
    held = verdict("  |driver - planned| / max(1%, 32 MiB)",
                   abs(figures["driver_mib"] - figures["total_mib"])
                   / max(0.01 * figures["total_mib"], 32), 1)
    held &= verdict("  driver / budget", figures["driver_mib"] * 2**20 / budget, 1)
    if figures["parts"] == free["parts"] and figures["loss"] != free["loss"]:
        print(f"  the last loss is {figures['loss']}, without a bound {free['loss']}: FAIL", flush=True)
        return False
    return held


def sweep(args, model, free, compiled):
    """Our step at budgets from all of torch.compile's peak to 0.3 of it, beside its own recompute."""
    held = True
    print(f"  budgets of {model}", flush=True)
    peers = [torch(model, args.precision, "compile", b) for b in SWEEP] + [dict(compiled, budget=1.0)]
    for failed in (p for p in peers if "error" in p):
        row("torch.compile", failed)
        held = False
    peers = [p for p in peers if "error" not in p]
    for peer in peers:
        row(f"torch.compile, budget {peer['budget']}", peer)
    least = min(p["peak_mib"] for p in peers)
    shares = {1.0, 0.8, 0.5, 0.4, 0.3} | {p["peak_mib"] / compiled["peak_mib"] for p in peers}
    for share in sorted(shares, reverse=True):
        peak = share * compiled["peak_mib"]
        budget = budget_for(free, peak)
        figures = ours(args.build, model, args.precision, budget, args.offload)
        row(f"ours, {share:.3f} of compile's peak", figures)
        if "error" in figures:
            held = False
            continue
        held &= check(figures, budget, free)
        reached = [p["ms"] for p in peers if p["peak_mib"] <= peak + 0.5]
        if reached:
            held &= verdict("  step time / the fastest within that peak", figures["ms"] / min(reached), 1.0)
        else:
            held &= verdict(f"  below its reach ({least:.0f} MiB): step time / ours without a bound",
                            figures["ms"] / free["ms"], 1.5)
    return held


def measure(args, model):
    time_bar, peak_bar = BARS.get(model, (None, 0.60))
    print(f"\n{model}, batch {WORK[model][0]}, {args.precision}, {WORK[model][1]}", flush=True)
    sweeps = args.sweep and not args.without_torch and model != "resnet50"
    if sweeps:
        compile_first(model, args.precision, [*SWEEP, None])
    free = ours(args.build, model, args.precision)
    row("ours, all of the device", free)
    if args.without_torch or "error" in free:
        return "error" not in free
    compiled = torch(model, args.precision, "compile")
    row("torch.compile", compiled)
    if "error" in compiled:
        return False
    held = True
    for share in (0.60, 0.55):
        budget = budget_for(free, share * compiled["peak_mib"])
        figures = ours(args.build, model, args.precision, budget)
        row(f"ours, {share} of its peak", figures)
        if "error" in figures:
            held = False
            continue
        bars = (time_bar, peak_bar) if share == peak_bar else (None, None)
        held &= verdict("  step time / torch.compile's", figures["ms"] / compiled["ms"], bars[0])
        held &= verdict("  peak / torch.compile's", figures["peak_mib"] / compiled["peak_mib"], bars[1])
        held &= check(figures, budget, free)
    if sweeps:
        held &= sweep(args, model, free, compiled)
    return held


def zoo(args, models):
    """All models beside torch.compile, as a table."""
    ratios = {share: [] for share in ZOO_BARS}
    held = True
    print(f"{'work':24} {'ours':>9} {'compile':>9} {'ratio':>7} {'at 0.60':>9} {'ratio':>7} {'MiB':>7} "
          f"{'its':>7} {'planned':>9} {'ready, s':>9}", flush=True)
    kept = kept_figures() if args.kept else {}
    kept_of = {model: kept.get(f"{model} {WORK[model][0]} {args.precision}") for model in models}
    if not args.without_torch:
        compile_all([model for model in models if kept_of[model] is None], args.precision)
    controlled = False
    for model in models:
        free = ours(args.build, model, args.precision)
        if "error" in free:
            print(f"{model:24} {free['error']}", flush=True)
            held = False
            continue
        name = f"{model} {WORK[model][0]}"
        if args.without_torch:
            print(f"{name:24} {free['ms']:9.2f} {'':>9} {'':>7} {'':>9} {'':>7} {free['peak_mib']:7.0f} "
                  f"{'':>7} {free['planned_ms']:9.2f} {free['ready_s']:9.2f}", flush=True)
            continue
        compiled = kept_of[model] if controlled else None
        if compiled is None:
            compiled = fastest(model, args.precision)
        if kept_of[model] is not None and not controlled and "error" not in compiled:
            controlled = True
            held &= verdict(f"{name}, PyTorch: |measured / kept - 1|",
                            abs(compiled["ms"] / kept_of[model]["ms"] - 1), CONTROL)
        if "error" in compiled:
            print(f"{name:24} {free['ms']:9.2f} {compiled['error']}", flush=True)
            held = False
            continue
        tables = TABLES_MIB.get(model, 0)
        tight = ours(args.build, model, args.precision,
                     budget_for(free, tables + 0.60 * (compiled["peak_mib"] - tables)))
        pairs = {None: free, 0.60: tight}
        shown = {}
        for share, figures in pairs.items():
            if "error" in figures:
                held = False
                shown[share] = (float("nan"), float("nan"))
                continue
            shown[share] = (figures["ms"], figures["ms"] / compiled["ms"])
            if model not in OWN_BARS:
                ratios[share].append(shown[share][1])
                held &= shown[share][1] <= ZOO_BARS[share][0]
        if model in OWN_BARS:
            held &= shown[None][1] <= OWN_BARS[model]
            held &= shown[0.60][0] <= OWN_TIGHT * free["ms"]
        predicted = OWN_PREDICTED if model in OWN_BARS else ZOO_PREDICTED
        held &= abs(free["planned_ms"] / free["ms"] - 1) <= predicted
        held &= free["ready_s"] <= ZOO_READY
        print(f"{name:24} {free['ms']:9.2f} {compiled['ms']:9.2f} {shown[None][1]:7.3f} {shown[0.60][0]:9.2f} "
              f"{shown[0.60][1]:7.3f} {free['peak_mib']:7.0f} {compiled['peak_mib']:7.0f} "
              f"{free['planned_ms']:9.2f} {free['ready_s']:9.2f}", flush=True)
    for share, all_of in ratios.items():
        if all_of:
            mean = statistics.geometric_mean(all_of)
            where = "without a bound" if share is None else f"at {share} of its memory"
            held &= verdict(f"geometric mean {where}", mean, ZOO_BARS[share][1])
    return held


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--zoo", action="store_true", help="ten models in one table")
    parser.add_argument("--models", help="by default gpt2,vit_b16,resnet50; with --zoo all")
    parser.add_argument("--batch", type=int, help="instead of each model's own")
    parser.add_argument("--precision", default="bf16", choices=["bf16", "f16", "tf32", "f32"])
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--kept", action="store_true", help="with --zoo: take PyTorch's figures from "
                        "bench/torch_figures.json, and measure one of them as a control")
    parser.add_argument("--offload", help="pinned host memory for our steps of the sweep, 16GiB say")
    parser.add_argument("--sweep", action="store_true", help="budgets of both, GPT-2 and ViT")
    args = parser.parse_args()
    models = args.models.split(",") if args.models else list(WORK) if args.zoo else list(BARS)
    if args.batch:
        WORK.update({model: (args.batch, *WORK[model][1:]) for model in models})
    held = zoo(args, models) if args.zoo else True
    for model in [] if args.zoo else models:
        held &= measure(args, model)
    if args.without_torch:
        print("\nnothing is compared: PyTorch is not measured")
    else:
        print("\nall bars hold" if held else "\nnot every bar holds")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
