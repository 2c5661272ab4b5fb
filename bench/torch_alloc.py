#!/usr/bin/env python3
"""What a release and an allocation cost in PyTorch's caching allocator on a GPU.

The work is that of bench_memory_cuda: 256 live blocks of 512 B to 16 MiB, a random one is freed
and a random size allocated in its place, 200,000 pairs to warm up and 200,000 to measure. The
allocator is called from C++, so that no Python is in the figure. Prints JSON on the last line.

    torch_alloc.py [FOLDER]        where the C++ is compiled, and found by the next run
"""

import ctypes
import json
import sys
import tempfile
from pathlib import Path

import torch
from torch.utils.cpp_extension import load

SOURCE = r"""
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>

namespace allocator = c10::cuda::CUDACachingAllocator;

extern "C" double churn(int64_t pairs) {
  constexpr std::size_t live = 256;
  std::mt19937_64 random(1);
  std::vector<void*> blocks(live, nullptr);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < pairs; ++i) {
    void*& block = blocks[random() % live];
    if (block != nullptr) allocator::raw_delete(block);
    block = allocator::raw_alloc(std::size_t(512) << (random() % 16));
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  for (void* block : blocks) {
    if (block != nullptr) allocator::raw_delete(block);
  }
  return spent.count() / static_cast<double>(pairs);
}
"""


def compiled(folder):
    path = Path(folder) / "torch_alloc.cpp"
    if not path.exists():
        path.write_text(SOURCE)
    load(
        "plimsoll_torch_alloc",
        [str(path)],
        build_directory=folder,
        with_cuda=True,
        extra_cflags=["-O2"],
        is_python_module=False,
    )
    churn = ctypes.CDLL(str(Path(folder) / "plimsoll_torch_alloc.so")).churn
    churn.restype = ctypes.c_double
    churn.argtypes = [ctypes.c_int64]
    return churn


def measure(folder):
    torch.empty(1, device="cuda")  # makes the context
    churn = compiled(folder)
    churn(200_000)
    ns = churn(200_000)
    print(f"PyTorch {torch.__version__}: {ns:.0f} ns a pair")
    print(json.dumps({"ns_per_pair": round(ns, 1), "torch": torch.__version__}))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            measure(temporary)
