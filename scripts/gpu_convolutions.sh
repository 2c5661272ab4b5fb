#!/usr/bin/env bash
# Builds on a machine with a GPU, runs the tests that convolutions can break, and times networks made
# of them: a short table last, everything else in a folder.
#
#   scripts/gpu_convolutions.sh [FOLDER]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-build/gpu/convolutions}
mkdir -p "$out"
build=build/gpu
jobs=$(nproc)
generator=Ninja
command -v ninja >/dev/null || generator="Unix Makefiles"

step() { echo "== $1 at ${SECONDS} s"; }
cmake --preset release -B "$build" -G "$generator" -DPLIMSOLL_CUDA=ON >"$out/configure.log" 2>&1 ||
  { tail -20 "$out/configure.log"; exit 1; }
cmake --build "$build" -j "$jobs" --target plimsoll plimsoll_cuda bench_train test_ops_cuda \
  test_plan_cuda test_train_cuda test_graph test_ops test_plan test_train >"$out/build.log" 2>&1 ||
  { grep -E "error|FAILED" -A5 "$out/build.log" | head -60; exit 1; }
step built
for name in ops_cuda plan_cuda train_cuda graph ops plan train; do
  timeout 240 "$build/tests/test_$name" >"$out/test_$name.log" 2>&1 &
  [[ $name == *_cuda ]] && wait
done
wait
for log in "$out"/test_*.log; do
  echo "$(basename "$log" .log): $(grep -E "PASSED|FAILED TEST|SKIPPED" "$log" | tr '\n' ' ')"
  grep -E "^\[  FAILED  \]" "$log" | sort -u | head -12
  grep -E "Failure|slow|terminate|what\(\)" -A4 "$log" | head -24
done
step tested

bench() {  # NAME OPTION...
  local name=$1
  shift
  PLIMSOLL_LOG=warning timeout 100 "$build/bench/bench_train" --profile "$@" >"$out/$name.txt" 2>&1
  echo "$name: $(tail -1 "$out/$name.txt" | cut -c1-420)"
  grep -E " x " "$out/$name.txt" | grep -v "us    " | head -14
  grep -E "plain" "$out/$name.txt" | head -6
}
bench resnet50 --model resnet50 --batch 256 --optimizer sgd
bench unet --model unet --batch 32 --optimizer sgd --classes 2
bench convnext --model convnext_t --batch 128
bench mixer --model mixer_b16 --batch 128
bench resnet50_f32 --model resnet50 --batch 128 --optimizer sgd --precision f32
bench lenet --model lenet --batch 512 --optimizer sgd --classes 10
bench resnet50_7g --model resnet50 --batch 256 --optimizer sgd --budget 7GiB
step timed
