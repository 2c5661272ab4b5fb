#!/usr/bin/env bash
# `plimsoll plan`: fits or not, for this machine and for others, curves, JSON.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

text=$("$PLIMSOLL" plan --budget 8MiB)
[[ $text == "fits: "*"parameters "*"optimizer "*"training with 32"*"validation with 32"* ]] ||
  fail "not a plan: $text"

# Lines fit a terminal; times and sizes are as people write them.
for arguments in "" "--batch 512" "--model resnet18 --size 32 --classes 10 --batch 512 --budget 256MiB" \
  "--model gpt2 --batch 16 --precision bf16 --device h200 --budget 8GiB --offload 16GiB"; do
  # shellcheck disable=SC2086
  text=$("$PLIMSOLL" plan $arguments) || fail "plan $arguments exits $?"
  while IFS= read -r line; do
    ((${#line} <= 80)) || fail "plan $arguments: more than 80 columns: $line"
  done <<<"$text"
  ! grep -E '[0-9]e[+-][0-9]|[0-9]{5,}' <<<"$text" || fail "plan $arguments: not what people write: $text"
done

# What a plan says is what a run takes.
planned=$("$PLIMSOLL" plan --budget 8MiB --json | sed -E 's/.*"planned_peak":([0-9]+).*/\1/')
measured=$("$PLIMSOLL" train --budget 8MiB --steps 2 --json --quiet |
  sed -E 's/.*"measured_peak":([0-9]+).*/\1/')
[[ $planned == "$measured" ]] || fail "planned $planned, measured $measured"

# Tables are updated by the rows that were read: no gradient of their size.
text=$("$PLIMSOLL" plan --model dlrm --optimizer sgd --momentum 0 --batch 256 --device h200 --json)
peak=$(sed -E 's/.*"planned_peak":([0-9]+).*/\1/' <<<"$text")
((peak > 26 * 100000 * 64 * 4 && peak < 2 * 26 * 100000 * 64 * 4)) || fail "dlrm: planned $peak"

# For hardware that is not here, by name and by file.
text=$("$PLIMSOLL" plan --model resnet18 --size 32 --classes 4 --batch 16 --device h200 --budget 2GiB)
[[ $text == "fits: "*"runtime "* ]] || fail "h200: $text"
file=$(mktemp)
trap 'rm -f "$file"' EXIT
echo '{"name": "mine", "memory": "4GiB", "bytes_per_second": 1e11, "flops_f32": 1e12,
       "flops_16": 2e12, "runtime": "100MiB", "workspace": "4MiB"}' >"$file"
"$PLIMSOLL" plan --device "$file" --json | grep -q '"device":"mine"' || fail "a device of a file"
status=0
message=$("$PLIMSOLL" plan --device h2000 2>&1) || status=$?
[[ $status == 2 && $message == *h2000* ]] || fail "an unknown device: $status $message"

# A curve: less memory, more time.
"$PLIMSOLL" plan --model gpt2_tiny --batch 8 --curve | awk '
  NR > 1 && ($NF + 0) < last { exit 1 } NR > 1 { last = $NF + 0 } END { exit NR < 4 }' ||
  fail "the curve falls"
# Where less memory costs no time there is one line: the smallest budget.
(($("$PLIMSOLL" plan --batch 64 --curve | wc -l) == 2)) || fail "a curve of nothing"
"$PLIMSOLL" plan --batch 64 --curve --json | grep -q '"curve":\[{"budget":' || fail "curve as JSON"

# A page is drawn with the curve too, and JSON is all that there is on stdout.
folder=$(mktemp -d)
trap 'rm -rf "$file" "$folder"' EXIT
"$PLIMSOLL" plan --batch 64 --curve --html "$folder/curve.html" | grep -q "slowdown" || fail "a curve and a page"
[[ -s $folder/curve.html ]] || fail "--curve --html draws nothing"
for also in "" --curve; do
  # shellcheck disable=SC2086
  "$PLIMSOLL" plan --batch 64 --json $also --html "$folder/json.html" 2>/dev/null |
    python3 -c 'import json, sys; json.load(sys.stdin)' || fail "--json $also --html: not one JSON object"
done

# Too small: exit 3 with both figures.
status=0
message=$("$PLIMSOLL" plan --batch 512 --budget 1MiB --no-split 2>&1) || status=$?
[[ $status == 3 ]] || fail "exits $status, expected 3"
[[ $message == *"smallest budget for this batch: "*"largest batch for this budget: "* ]] ||
  fail "no figures in: $message"

# Pictures larger than oneDNN's kernels can address are refused for their memory.
refuses_command plan 3 "smallest budget for this batch" --model resnet18 --size 100000
