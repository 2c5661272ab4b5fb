#!/usr/bin/env bash
# Augmentation beside torchvision as it is installed, on other pictures than those recorded. The
# python that PLIMSOLL_TORCH_PYTHON names has it (default: python3); else the test is skipped.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${PLIMSOLL_TORCH_PYTHON:-python3}
"$python" -c 'import torchvision, numpy' >/dev/null 2>&1 || exit 77
test=$(dirname "$PLIMSOLL")/../tests/test_data_program
[[ -x $test ]] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for seed in 11 12; do
  PLIMSOLL_AUGMENT_SEED=$seed "$python" "$here/data/record/record_augment.py" torch "$folder"
  PLIMSOLL_AUGMENT_RECORDED=$folder "$test" --gtest_filter='*AugmentRecorded*augment_torch' ||
    fail "seed $seed"
done
