#!/usr/bin/env bash
# Builds on a machine with a GPU, times networks made of convolutions, and runs the tests that they can
# break. Prints a few lines for each; all output goes into FOLDER/convolutions.tgz.
#
#   scripts/gpu_convolutions.sh [FOLDER]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/gpu
out=$build/convolutions
mkdir -p "$out"
trap 'tar -C "$build" -czf "${1:-$build}/convolutions.tgz" convolutions' EXIT
jobs=$(nproc)
generator=Ninja
command -v ninja >/dev/null || generator="Unix Makefiles"

step() { echo "== $1 at ${SECONDS} s"; }
cmake --preset release -B "$build" -G "$generator" -DPLIMSOLL_CUDA=ON >"$out/configure.log" 2>&1 ||
  { tail -20 "$out/configure.log"; exit 1; }
grep -i cudnn "$out/configure.log" | head -3
cmake --build "$build" -j "$jobs" --target plimsoll plimsoll_cuda bench_train test_ops_cuda \
  test_plan_cuda test_train_cuda test_graph test_ops test_plan test_train >"$out/build.log" 2>&1 ||
  { grep -E "error|FAILED" -A5 "$out/build.log" | head -60; exit 1; }
step built

bench() {  # NAME OPTION...
  local name=$1
  shift
  timeout 60 "$build/bench/bench_train" --profile --steps 7 "$@" >"$out/$name.txt" 2>&1
  echo "$name: $(tail -1 "$out/$name.txt" | cut -c1-330)"
  grep -E " x +[0-9.]+ us  [a-z]" "$out/$name.txt" | head -7
  grep -E " x +[0-9.]+ us    [a-z]" "$out/$name.txt" | head -6 | cut -c1-130
  grep -E "plain" "$out/$name.txt" | head -4 | cut -c1-200
}
bench resnet50 --model resnet50 --batch 256 --optimizer sgd
bench unet --model unet --batch 32 --optimizer sgd --classes 2
bench convnext --model convnext_t --batch 128
bench mixer --model mixer_b16 --batch 128
bench resnet50_f32 --model resnet50 --batch 128 --optimizer sgd --precision f32
bench lenet --model lenet --batch 512 --optimizer sgd --classes 10
bench resnet50_7g --model resnet50 --batch 256 --optimizer sgd --budget 7GiB
step timed

for name in graph ops plan train; do
  timeout 200 "$build/tests/test_$name" >"$out/test_$name.log" 2>&1 &
done
for name in ops_cuda plan_cuda train_cuda; do
  timeout 150 "$build/tests/test_$name" >"$out/test_$name.log" 2>&1
  echo "test_$name ended with $? at ${SECONDS} s"
done
wait
for log in "$out"/test_*.log; do
  echo "$(basename "$log" .log): $(grep -E "PASSED|FAILED TEST" "$log" | tr '\n' ' ')"
  grep -E "^\[  FAILED  \]" "$log" | sort -u | head -8
  grep -E "Failure|terminate|what\(\)" -A4 "$log" | head -16 | cut -c1-200
done
step tested
