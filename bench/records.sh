#!/usr/bin/env bash
# Records and the cache on disk, against tf.data and read(): bench/records.sh BUILD [OPTION...]
#
# TensorFlow lives in an environment of its own, .venv-tf, which `./dev bench records` makes; where it is
# not, its part is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 bench/records.py "$build" "$folder" "$@"
