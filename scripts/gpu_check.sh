#!/usr/bin/env bash
# Builds on a machine with a GPU, runs the tests that need one and the fast ones, then the GPU
# benchmarks beside their peers. From anywhere in the repository:
#
#   scripts/gpu_check.sh [--no-fast] [--no-bench]
#
# Nothing is measured without cuDNN, unless PLIMSOLL_WITHOUT_CUDNN=1 says so; that is found out before
# anything is built. Exits with 1 if a test fails. A benchmark whose peer is missing prints its own
# figure only.
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
[[ $bench == no ]] || bash scripts/require_cudnn.sh "$build"
cmake --build "$build" -j "$jobs"

echo "== tests: cuda"
ctest --test-dir "$build" -L cuda --output-on-failure --no-tests=error || status=1
if [[ $fast == yes ]]; then
  echo "== tests: fast"
  ctest --test-dir "$build" -L fast --output-on-failure -j "$jobs" || status=1
fi

if [[ $bench == yes ]]; then
  echo "== memory"
  cmake --build "$build" -j "$jobs" --target benchmarks
  bash bench/memory.sh "$build" || status=1
  echo "== training"
  bash bench/train.sh "$build" || status=1
fi
exit "$status"
