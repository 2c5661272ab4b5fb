#!/usr/bin/env bash
# Input pipelines against tf.data and against libjpeg-turbo: bench/data.sh BUILD [OPTION...]
#
# TensorFlow lives in an environment of its own, .venv-tf, which `./dev deps` and `./dev bench` make;
# where it is not, its part is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
shift

why=""
.venv-tf/bin/python -c 'import tensorflow' >/dev/null 2>&1 || why="it is not in .venv-tf"
[[ -z $why ]] || echo "TensorFlow is not measured: $why"

# The pictures lie in the page cache: a disk is not what is measured.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 bench/data_report.py --build "$build" --folder "$folder" \
  ${why:+--without-tensorflow} "$@"
