#!/usr/bin/env bash
# Training steps on the GPU beside PyTorch's: bench/train.sh BUILD [OPTION...]
#
# A build without cuDNN is not measured, unless PLIMSOLL_WITHOUT_CUDNN=1 says so.
#
# PyTorch is whatever `python3 -c 'import torch'` finds, with torchvision and timm; where it is not,
# its part is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
shift

if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "bench train: nothing is measured: there is no GPU"
  exit 0
fi
bash scripts/require_cudnn.sh "$build"
why=""
python3 -c 'import torch, torchvision, timm' >/dev/null 2>&1 ||
  why="python3 has no torch, torchvision and timm"
[[ -z $why ]] || echo "PyTorch is not measured: $why"
python3 bench/train.py "$build" ${why:+--without-torch} "$@"
