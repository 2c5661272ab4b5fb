#!/usr/bin/env bash
# Random resized crop, flip and colours beside tf.data and torchvision: bench/augment.sh BUILD [OPTION...]
#
# TensorFlow lives in .venv-tf and torchvision in .venv-torch (or where PLIMSOLL_TORCH_PYTHON points), which
# `./dev bench augment` makes; what is not there is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 bench/augment.py "$build" "$folder" "$@"
