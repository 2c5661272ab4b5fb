#!/usr/bin/env bash
# Random resized crop, flip and colours beside tf.data and torchvision: bench/augment.sh BUILD
# By turns in one run. TensorFlow is used from .venv-tf, torchvision from the python3 that
# PLIMSOLL_TORCH_PYTHON names (default: python3), each where it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
torch=${PLIMSOLL_TORCH_PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$build/bench/bench_data_images" --folder "$folder/pictures" --rounds 1 >/dev/null
pictures=$folder/pictures
for _ in 1 2 3; do
  "$build/bench/bench_augment" --pictures "$pictures"
  if .venv-tf/bin/python -c 'import tensorflow' >/dev/null 2>&1; then
    .venv-tf/bin/python bench/augment_peers.py tf "$pictures" 2>/dev/null
  fi
  if "$torch" -c 'import torchvision' >/dev/null 2>&1; then
    "$torch" bench/augment_peers.py torch "$pictures" 2>/dev/null
  fi
done | awk '
  { best[$1] = $2 > best[$1] ? $2 : best[$1]; printf "%-20s %8.1f images/s\n", $1, $2 }
  function ratio(text, a, b, bar) {
    if (best[a] && best[b]) printf "%-46s %6.2f (bar: %s)\n", text, best[a] / best[b], bar
  }
  END {
    ratio("against tf.data", "plimsoll_plain", "tf", 1.5)
    ratio("against torchvision and its DataLoader", "plimsoll_antialias", "torch", 2.5)
  }'
