#!/usr/bin/env bash
# Training on a machine that others use as well: bench/busy.sh BUILD [OPTION...] [MODEL...]
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

python3 bench/busy.py "$build" ${why:+--without-tensorflow} "$@"
