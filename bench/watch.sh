#!/usr/bin/env bash
# What a run log and its watchers cost a training run: bench/watch.sh BUILD [OPTION...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python3 bench/watch.py "$@"
