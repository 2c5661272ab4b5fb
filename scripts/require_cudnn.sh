#!/usr/bin/env bash
# Says what is missing and exits with 2 where a build has no cuDNN: convolutions and attention to more
# than 256 tokens are plain kernels then, and what is measured is not the product.
#
#   scripts/require_cudnn.sh BUILD
#
# PLIMSOLL_WITHOUT_CUDNN=1 has them measured.
set -euo pipefail
cache=$1/CMakeCache.txt

if ! grep -q '^PLIMSOLL_NO_CUDNN_WHY:' "$cache" 2>/dev/null; then
  echo "$1 is not a build of Plimsoll that is configured" >&2
  exit 2
fi
why=$(sed -n 's/^PLIMSOLL_NO_CUDNN_WHY:INTERNAL=//p' "$cache")
[[ -n $why ]] || exit 0
if [[ ${PLIMSOLL_WITHOUT_CUDNN:-} == 1 ]]; then
  echo "measured without cuDNN: $why"
  exit 0
fi
cat >&2 <<TEXT
$1 is built without cuDNN: $why.
Nothing is measured, as convolutions and attention to more than 256 tokens would be plain kernels.
  cuDNN's headers and library  come from NVIDIA's packages, or with a PyTorch that python3 finds
  the headers of its frontend  ./dev deps brings them; without a network, copy .deps/cudnn-frontend
                               here from a machine that has it, or set CUDNN_FRONTEND_DIR
Then configure again: cmake $1. PLIMSOLL_WITHOUT_CUDNN=1 measures the plain kernels.
TEXT
exit 2
