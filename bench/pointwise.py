"""The chain of bench/pointwise_bench.cpp on PyTorch: eager and torch.compile, as CUDA graphs.

    python3 bench/pointwise.py [ROWS COLUMNS]

One object of JSON per line; the result is copied once more, as a step's outputs are.
"""

import json
import sys
import time

import torch


def chain(x, y, b):
    h = x * torch.sigmoid(1.7 * x) + torch.tanh(y)
    h = h + b
    h = h * torch.exp(-(h * h)) - 0.5 * y
    h = torch.maximum(h, 0.1 * torch.abs(x))
    h = torch.nn.functional.silu(h) + torch.clamp(y, -1, 1).square()
    return h * (torch.sin(h) + 1)


def microseconds(function, arguments, out):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            out.copy_(function(*arguments))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out.copy_(function(*arguments))
    times = []
    for _ in range(9):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(20):
            graph.replay()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / 20)
    return sorted(times)[len(times) // 2] * 1e6


def main():
    rows, columns = (int(a) for a in sys.argv[1:3]) if len(sys.argv) > 2 else (4096, 4096)
    for dtype in (torch.bfloat16, torch.float32):
        x = torch.full((rows, columns), 0.7, dtype=dtype, device="cuda")
        y = x.clone()
        b = torch.full((columns,), 0.7, dtype=dtype, device="cuda")
        out = torch.empty_like(x)
        for name, function in (("eager", chain), ("compile", torch.compile(chain))):
            begin = time.perf_counter()
            function(x, y, b)
            torch.cuda.synchronize()
            ready = time.perf_counter() - begin
            print(
                json.dumps(
                    {
                        "dtype": str(dtype),
                        "torch": name,
                        "us": round(microseconds(function, (x, y, b), out), 1),
                        "ready_s": round(ready, 3),
                    }
                )
            )


if __name__ == "__main__":
    main()
