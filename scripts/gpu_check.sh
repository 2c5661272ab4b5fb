#!/usr/bin/env bash
# Builds on a machine with a GPU, runs the tests that need one and the fast ones, then the GPU
# benchmarks beside their peers. From anywhere in the repository:
#
#   scripts/gpu_check.sh [--no-fast] [--no-bench]
#
# Exits with 1 if a test fails. A benchmark whose peer is missing prints its own figure only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fast=yes
bench=yes
for argument in "$@"; do
  case $argument in
    --no-fast) fast=no ;;
    --no-bench) bench=no ;;
    *)
      echo "usage: scripts/gpu_check.sh [--no-fast] [--no-bench]" >&2
      exit 2
      ;;
  esac
done

build=build/gpu
jobs=${PLIMSOLL_JOBS:-$(nproc)}
generator=Ninja
command -v ninja >/dev/null || generator="Unix Makefiles"
status=0

nvidia-smi --query-gpu=name,memory.total,memory.used,driver_version --format=csv || true

echo "== build"
cmake --preset release -B "$build" -G "$generator" -DPLIMSOLL_CUDA=ON >"/tmp/plimsoll_configure.$$" ||
  { cat "/tmp/plimsoll_configure.$$"; exit 1; }
rm -f "/tmp/plimsoll_configure.$$"
cmake --build "$build" -j "$jobs"

echo "== tests: cuda"
ctest --test-dir "$build" -L cuda --output-on-failure --no-tests=error || status=1
if [[ $fast == yes ]]; then
  echo "== tests: fast"
  ctest --test-dir "$build" -L fast --output-on-failure -j "$jobs" || status=1
fi

if [[ $bench == yes ]]; then
  echo "== allocator"
  cmake --build "$build" -j "$jobs" --target bench_memory_cuda
  results=$(mktemp -d)
  trap 'rm -rf "$results"' EXIT
  if python3 -c 'import torch' 2>/dev/null; then
    python3 bench/torch_alloc.py >"$results/torch" 2>"$results/torch_errors" ||
      tail -n 20 "$results/torch_errors"
  else
    echo "PyTorch is not installed: no figure to compare with"
  fi
  program=$(find "$build" -type f -name bench_memory_cuda -perm -u+x | head -n 1)
  if "$program" >"$results/ours"; then
    sed '$d' "$results/ours"
    python3 - "$results/ours" "$results/torch" <<'PYTHON'
import json
import sys


def last_line(path):
    try:
        return json.loads(open(path).read().splitlines()[-1])
    except (OSError, IndexError, ValueError):
        return {}


ours, torch = (last_line(path) for path in sys.argv[1:3])
print(f"{'allocator, ns a pair':<28}{'Plimsoll':>10}{'PyTorch':>10}{'ratio':>8}")
peer = torch.get("ns_per_pair")
for title, key in (("on a stream", "ns_per_pair"), ("on the host's stream", "ns_per_pair_host")):
    ratio = f"{ours[key] / peer:8.3f}" if peer else "       -"
    print(f"{title:<28}{ours[key]:>10.0f}{peer or float('nan'):>10.0f}{ratio}")
print(json.dumps({"plimsoll": ours, "torch": torch}))
PYTHON
  else
    status=1
  fi
fi
exit "$status"
