#!/usr/bin/env python3
"""Products of random shapes and some attentions beside PyTorch: bench/products.py BUILD [OPTION...]

Shapes are log-uniform, of any alignment, with all transposes, half of them batched; operands of at
most 2 GiB, 10 TFLOP. Both sides are CUDA graphs, PyTorch deterministic. Prints how many products
take at most 1.25 of PyTorch's time, the worst of them, and how far predictions are off.
"""

import argparse
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import product_shapes  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--seed", default="1", help="another one gives other shapes; 'fresh': the clock's")
parser.add_argument("--count", type=int, default=200)
parser.add_argument("--precision", nargs="*", default=["bf16"])
parser.add_argument("--models", action="store_true", help="products and attentions of models as well")
parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
parser.add_argument("--worst", type=int, default=12)
parser.add_argument("--out", help="a line of JSON for each shape")
parser.add_argument("--without-torch", action="store_true")
parser.add_argument("--without-ours", action="store_true")
options = parser.parse_args()
seed = str(time.time_ns()) if options.seed == "fresh" else options.seed
began = time.monotonic()

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
torch = None
if not options.without_torch:
    import torch
    from graph_time import graph_us

    torch.use_deterministic_algorithms(True, warn_only=True)

DTYPES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "tf32": "float32"}

ATTENTIONS = [
    (1, 16, 12, 1024, 64),
    (0, 128, 12, 197, 64),
    (1, 4, 16, 2048, 128),
    (0, 8, 8, 777, 40),
    (1, 2, 12, 4096, 64),
]


def torch_product(precision, ta, tb, batches, m, n, k):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    dtype = getattr(torch, DTYPES[precision])
    lead = () if batches == 1 else (batches,)
    a = torch.randn(*lead, *((k, m) if ta else (m, k)), device="cuda", dtype=dtype)
    b = torch.randn(*lead, *((n, k) if tb else (k, n)), device="cuda", dtype=dtype)
    x, y = (a.mT if ta else a), (b.mT if tb else b)
    c = torch.empty(*lead, m, n, device="cuda", dtype=dtype)
    return graph_us(lambda: torch.matmul(x, y, out=c))


def torch_attention(precision, causal, n, heads, tokens, size):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    dtype = getattr(torch, DTYPES[precision])
    qkv = torch.randn(n, tokens, 3, heads, size, device="cuda", dtype=dtype, requires_grad=True)
    dy = torch.randn(n, heads, tokens, size, device="cuda", dtype=dtype)

    def forward():
        q, k, v = (qkv[:, :, i].transpose(1, 2) for i in range(3))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))

    def both():
        return torch.autograd.grad(forward(), qkv, dy)

    with torch.no_grad():
        ahead = graph_us(forward)
    return ahead, graph_us(both) - ahead


def ask(program, line):
    if program is None:
        return {}
    program.stdin.write(line + "\n")
    program.stdin.flush()
    answer = program.stdout.readline()
    if not answer:
        sys.exit(f"bench_products ended at: {line}")
    return json.loads(answer)


def work():
    for precision in options.precision:
        for shape in product_shapes.draw(seed, options.count, precision):
            yield "product", shape
    if options.models:
        for precision in options.precision:
            for shape in product_shapes.models(precision):
                yield "model", shape
            for shape in ATTENTIONS:
                yield "attention", (precision, *shape)


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


program = None if options.without_ours else subprocess.Popen(
    [f"{options.build}/bench/bench_products"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
rows = []
out = open(options.out, "w") if options.out else None
for kind, shape in work():
    if time.monotonic() - began > options.seconds:
        print(f"stopped after {len(rows)} shapes")
        break
    words = "attention" if kind == "attention" else "product"
    row = {"kind": kind, "shape": shape, **ask(program, " ".join(map(str, (words, *shape))))}
    if torch is not None and "error" not in row:
        try:
            if kind == "attention":
                row["torch"], row["torch_grad"] = torch_attention(*shape)
            else:
                row["torch"] = torch_product(*shape)
        except Exception as error:  # noqa: BLE001
            row["torch_error"] = str(error)[:200]
        torch.cuda.empty_cache()
    rows.append(row)
    if out:
        out.write(json.dumps(row) + "\n")
        out.flush()
if program is not None:
    program.stdin.close()

print(f"seed {seed}")
for row in rows:
    if "error" in row or "torch_error" in row:
        print("ERROR", row["shape"], row.get("error") or row["torch_error"])
    if row.get("errors", 0) > 0 or not row.get("within", True):
        print("WRONG", row)
for precision in options.precision:
    mine = [r for r in rows if r["kind"] == "product" and r["shape"][0] == precision and "us" in r]
    if not mine:
        continue
    off = [r["predicted"] / r["us"] for r in mine]
    near = sum(1 for o in off if 1 / 1.3 <= o <= 1.3) / len(off)
    looked = sum(1 for r in mine if r["errors"] >= 0)
    print(f"{precision}: {len(mine)} products, {looked} of them looked at; predicted within 30%: {near:.0%}, "
          f"predicted/taken from {quantile(off, 0.05):.2f} to {quantile(off, 0.95):.2f}")
    both = [r for r in mine if "torch" in r]
    if not both:
        continue
    ratios = [r["us"] / r["torch"] for r in both]
    print(f"{precision}: at most 1.25 of PyTorch's time: {sum(1 for x in ratios if x <= 1.25) / len(ratios):.1%}; "
          f"median {quantile(ratios, 0.5):.2f}, worst {max(ratios):.2f}")
    for r in sorted(both, key=lambda r: -r["us"] / r["torch"])[:options.worst]:
        print(f"  {r['us'] / r['torch']:6.2f}  {r['us']:10.1f} us, PyTorch {r['torch']:10.1f}, predicted "
              f"{r['predicted']:10.1f}  copies {r['copies']} {r['shape']}")
for r in rows:
    if r["kind"] == "product" or "us" not in r:
        continue
    peer = f"{r['torch']:10.1f} {r['us'] / r['torch']:6.2f}" if "torch" in r else ""
    line = f"{r['kind']:<10}{r['us']:10.1f} us (predicted {r['predicted']:10.1f}) PyTorch {peer}"
    if "grad_us" in r:
        peer = f"{r['torch_grad']:10.1f} {r['grad_us'] / r['torch_grad']:6.2f}" if "torch" in r else ""
        line += f"  grad {r['grad_us']:10.1f} (predicted {r['grad_predicted']:10.1f}) PyTorch {peer}"
    print(line, r["shape"])
