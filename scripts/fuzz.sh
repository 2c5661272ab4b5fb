#!/usr/bin/env bash
# Runs libFuzzer on the readers of files: scripts/fuzz.sh [SECONDS] [TARGET...]
#
# Each target (tests/fuzz, all by default) is run for SECONDS (60), from the recorded files on. Needs clang with
# its runtime for fuzzers; inputs that fail are left in build/fuzz/found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
shift || true
command -v clang++ >/dev/null || {
  echo "fuzz.sh: there is no clang++; install clang, or run the mutations of test_data_slow" >&2
  exit 77
}
targets=("$@")
if ((${#targets[@]} == 0)); then
  for file in tests/fuzz/*_fuzz.cpp; do
    name=$(basename "$file" _fuzz.cpp)
    targets+=("$name")
  done
fi
if [[ ! -e build/fuzz/CMakeCache.txt ]]; then
  CC=clang CXX=clang++ cmake -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=Release -DPLIMSOLL_PYTHON=OFF \
    -DPLIMSOLL_BENCH=OFF -DPLIMSOLL_CUDA=OFF -DCMAKE_CXX_FLAGS=-fsanitize=fuzzer-no-link >/dev/null
fi
cmake --build build/fuzz -j "${PLIMSOLL_JOBS:-$(nproc)}" --target "${targets[@]/#/fuzz_}" >/dev/null

mkdir -p build/fuzz/found
recorded=tests/data/recorded
seeds() { # TARGET: recorded files of its format
  case $1 in
    tfrecord | tfrecord_rows | tfrecord_large | tfrecord_verified) ls "$recorded"/records/examples.tfrecord ;;
    tfrecord_gzip) ls "$recorded"/records/examples.gzip.tfrecord ;;
    tfrecord_zlib) ls "$recorded"/records/examples.zlib.tfrecord ;;
    webdataset) ls "$recorded"/records/*.tar ;;
    mds) ls "$recorded"/records/mds/*.mds ;;
    mds_index) ls "$recorded"/records/mds/index.json ;;
    npy) ls "$recorded"/npy/* ;;
    png | jpeg) ls "$recorded"/images/*."${1/jpeg/jpg}" ;;
  esac
}
status=0
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  # What comes first says what is done with the file: a byte, or four for pictures. Signatures are the target's.
  seeds "$target" | while read -r file; do
    case $target in
      npy) printf '\1' && tail -c +7 "$file" ;;
      png) printf '\0\0\0\1' && tail -c +9 "$file" ;;
      jpeg) printf '\0\0\0\1' && tail -c +4 "$file" ;;
      *) printf '\1' && cat "$file" ;;
    esac >"$corpus/$(basename "$file")"
  done
  if "build/fuzz/tests/fuzz_$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -max_len=65536 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/found/$target-" "$corpus" >"build/fuzz/$target.log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$target.log")
    echo "$target: PASS ($runs inputs)"
  else
    echo "$target: FAIL (build/fuzz/$target.log)"
    status=1
  fi
done
exit "$status"
