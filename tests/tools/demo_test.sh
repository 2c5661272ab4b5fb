#!/usr/bin/env bash
# What ./dev demo does: pictures are made, and a network learns them within its budget.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(dirname "$PLIMSOLL")/../examples/make_pictures" "$work/pictures"
"$PLIMSOLL" train --data "$work/pictures" --model lenet --size 32 --batch 32 --epochs 10 \
  --budget 256MiB --optimizer adam --log "$work/run.jsonl" --quiet --json >"$work/out"
accuracy=$(sed -E 's/.*"validation_accuracy":([0-9.]+).*/\1/' "$work/out")
awk -v a="$accuracy" 'BEGIN { exit !(a >= 0.95) }' || fail "accuracy $accuracy"
[[ -s $work/run.jsonl ]] || fail "no run log"
