#!/usr/bin/env bash
# Records and the cache on disk, against tf.data and read(): bench/records.sh BUILD [OPTION...]
# TensorFlow is used from .venv-tf where it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
pictures=()
if [[ -x $build/examples/make_pictures ]]; then
  "$build/examples/make_pictures" "$folder/pictures" >/dev/null
  pictures=(--pictures "$folder/pictures")
fi
{
  "$build/bench/bench_records" --folder "$folder" "${pictures[@]}" "$@"
  if .venv-tf/bin/python -c 'import tensorflow' >/dev/null 2>&1; then
    .venv-tf/bin/python bench/records_tf.py "$folder/small/shard-00000.tfrecord" 2>/dev/null
  fi
} | awk '
  { value[$1] = $2; printf "%-28s %15.0f\n", $1, $2 }
  function ratio(text, a, b, bar) {
    if (value[a] && value[b]) printf "%-52s %6.2f (bar: %s)\n", text, value[a] / value[b], bar
  }
  END {
    ratio("examples against parse_single_example", "parsed_batched", "tf_parse_single_example", 5)
    ratio("examples against parse_example on batches", "parsed_batched", "tf_parse_example", 1.5)
    ratio("bytes of records against read()", "raw_bytes", "read_bytes", 0.8)
    ratio("second epoch from the cache against decoding", "cached", "decoded", 2.5)
  }'
