#!/usr/bin/env bash
# Runs CUDA kernels on the host, beside the CPU's: scripts/emulate_kernels.sh [GTEST_ARGUMENT...]
#
# For machines without a GPU: their sources are made C++ (tests/emulated) and compiled with AddressSanitizer, then
# threads run one at a time, in three orders. Finds what goes beyond arrays, depends on the order of threads, reads
# shared memory that nobody wrote, or has barriers that not all come to; says nothing of speed, nor of kernels with
# instructions that only GPUs have. PLIMSOLL_EMULATED_SEED and PLIMSOLL_EMULATED_ROUNDS choose random shapes,
# PLIMSOLL_EMULATED_OP an op of the recorded cases, PLIMSOLL_EMULATED_KERNELS sources ("group_norm cast"; all takes
# minutes to compile). Needs the toolkit's headers and a release build with tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
toolkit=${CUDA_HOME:-/usr/local/cuda}
[[ -e $toolkit/include/cuda_runtime.h ]] || {
  echo "emulate_kernels.sh: no cuda_runtime.h in $toolkit/include; set CUDA_HOME to the toolkit" >&2
  exit 77
}
[[ -e build/release/tests/libplimsoll_test_support.a ]] || {
  echo "emulate_kernels.sh: there is no build/release with tests; run ./dev build first" >&2
  exit 77
}
all=(attention_chunked batch_norm batch_norm_grad cast compare convolution_columns convolution_depthwise
  convolution_depthwise_weight convolution_plain cross_entropy cumulative elementwise elementwise_activation
  elementwise_math gated group_norm normalize optimizer_update packed_update pooling pooling_grad reduce rope softmax
  strided_copy update)
# The tests call these by name.
read -rd '' -a kernels <<<"attention_chunked convolution_depthwise convolution_depthwise_weight convolution_plain group_norm
  ${PLIMSOLL_EMULATED_KERNELS-${all[*]}}" || true
readarray -t kernels < <(printf '%s\n' "${kernels[@]}" | sort -u)
out=build/emulated
rm -rf "$out/objects"
mkdir -p "$out/objects"
python3 tests/emulated/emulate.py src/backend/cuda/kernels "$out/backend/cuda/kernels"
compile() { # SOURCE OBJECT
  local ccache
  ccache=$(command -v ccache || true)
  $ccache g++ -std=c++20 -O1 -g1 -ffp-contract=off -fsanitize=address,alignment,bounds -fno-sanitize-recover=all \
    -ftrivial-auto-var-init=pattern -w -include tests/emulated/emulation.h -I"$out" -Isrc -Iinclude -Itests \
    -isystem "$toolkit/include" -c "$1" -o "$out/objects/$2.o"
}
export -f compile
export out toolkit
{
  for kernel in "${kernels[@]}"; do echo "$out/backend/cuda/kernels/$kernel.cpp $kernel"; done
  for source in src/backend/cuda/kernels/{shape,launch}.cpp tests/emulated/*.cpp; do
    echo "$source host_$(basename "$source" .cpp)"
  done
  for source in tests/ops/cases/*.cpp; do echo "$source case_$(basename "$source" .cpp)"; done
} | xargs -P "${PLIMSOLL_JOBS:-$(nproc)}" -n 2 bash -c 'compile "$0" "$1"'
g++ -fsanitize=address,alignment,bounds "$out"/objects/*.o -Wl,--whole-archive \
  build/release/tests/libplimsoll_test_support.a -Wl,--no-whole-archive -Lbuild/release/lib -lplimsoll -lgmock -lgtest \
  -lfmt -lpthread -Wl,-rpath,"$PWD/build/release/lib" -o "$out/emulated_kernels"
# The library is not instrumented, so that containers that both use would be false alarms.
ASAN_OPTIONS=detect_leaks=0:detect_container_overflow=0 "$out/emulated_kernels" "$@" 2> >(
  grep -v -e 'fully support makecontext' -e 'ignoring requested __asan_handle_no_return' -e 'False positive error' \
    -e 'github.com/google/sanitizers/issues/189' >&2
)
