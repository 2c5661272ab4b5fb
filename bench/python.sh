#!/usr/bin/env bash
# What Python adds to the same work in C++: bench/python.sh BUILD [TURNS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHONPATH=$PWD/$1/python .venv/bin/python bench/python.py "$1/bench/bench_python" "${@:2}"
