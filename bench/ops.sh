#!/usr/bin/env bash
# Training steps of three models beside TensorFlow's: bench/ops.sh BUILD [OPTION...] [MODEL...]
#
# TensorFlow lives in an environment of its own, .venv-tf, which this makes once; where it cannot
# be had, its part is left out and the reason printed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
shift

python=.venv-tf/bin/python
works() { "$python" -c 'import tensorflow' >/dev/null 2>&1; }
why=""
if ! works; then
  log=$(mktemp)
  if ! python3 -m venv .venv-tf >"$log" 2>&1; then
    why="python3 -m venv failed: $(tail -n 1 "$log")"
  elif ! "$python" -m pip install -q -r bench/ops_requirements.txt >"$log" 2>&1; then
    why="pip could not install it: $(tail -n 1 "$log")"
  elif ! works; then
    why="it is installed and cannot be imported"
  fi
  rm -f "$log"
fi
[[ -z $why ]] || echo "TensorFlow is not measured: $why"

python3 bench/ops.py "$build" ${why:+--without-tensorflow} "$@"
