#!/usr/bin/env bash
# `plimsoll train`: the default run, refusals, killing and resuming, Ctrl-C, bad arguments.
set -euo pipefail
source "$(dirname "$0")/kill_lib.sh"

field() {
  sed -E "s/.*\"$2\":([0-9.e+-]+).*/\1/" <<<"$1"
}

# With no arguments: the embedded digits within a small budget.
output=$("$PLIMSOLL" train --epochs 4 --json --quiet)
[[ $(field "$output" planned_peak) == "$(field "$output" measured_peak)" ]] || fail "peaks: $output"
(($(field "$output" charged_peak) <= $(field "$output" budget))) || fail "over the budget: $output"
(($(field "$output" budget) <= 16 * 1024 * 1024)) || fail "no small budget: $output"
[[ $(field "$output" steps) == 180 ]] || fail "steps: $output"
awk -v a="$(field "$output" validation_accuracy)" 'BEGIN { exit !(a > 0.85) }' ||
  fail "accuracy: $output"

# Lines that people read.
text=$("$PLIMSOLL" train --epochs 1 --log "$work/log")
[[ $text == *"fits: "*"planned peak"*"epoch   1"*"validation_accuracy"*"run log: "* ]] ||
  fail "not what is shown: $text"
grep -q '"event":"step"' "$work/log" || fail "no steps in the run log"

# The same losses within any budget.
for budget in 4MiB 16MiB 1GiB; do
  output=$("$PLIMSOLL" train --steps 10 --budget "$budget" --json --quiet --no-split)
  losses=$(losses_of "$output")
  [[ -z ${expected:-} || $losses == "$expected" ]] || fail "other losses within $budget"
  expected=$losses
done

# A recommender on made-up examples, whose tables are updated by the rows that were read.
for optimizer in "sgd --momentum 0 --lr 0.1" adagrad lazy_adam; do
  # shellcheck disable=SC2086
  output=$("$PLIMSOLL" train --model dlrm --classes 40 --size 3 --optimizer $optimizer --batch 16 \
    --epochs 3 --json --quiet)
  [[ $(field "$output" planned_peak) == "$(field "$output" measured_peak)" ]] || fail "dlrm: $output"
  losses_of "$output" | awk -F, '{ exit !($NF < $1) }' ||
    fail "dlrm with $optimizer does not learn: $output"
done
status=0
message=$("$PLIMSOLL" train --model dlrm --classes 40 --data digits 2>&1) || status=$?
[[ $status == 2 && $message == *"--data digits"*"synthetic"* ]] || fail "dlrm on digits: $status $message"

# A refusal takes no step, exits 3, and names what works.
refuse() {
  local status=0
  message=$("$PLIMSOLL" train --model resnet18 --size 32 --classes 4 --batch 8 --steps 1 \
    --quiet --json "$@" 2>&1) || status=$?
  [[ $status == 3 ]] || fail "exits $status, expected 3: $message"
}
refuse --budget 100MiB
smallest=$(sed -n 's/^smallest budget for this batch: //p' <<<"$message")
[[ -n $smallest ]] || fail "no smallest budget in: $message"
[[ $message == *"largest batch for this budget: "* ]] || fail "no largest batch in: $message"
output=$("$PLIMSOLL" train --model resnet18 --size 32 --classes 4 --batch 8 --steps 1 \
  --quiet --json --budget "$smallest") || fail "the smallest budget does not run"
(($(field "$output" charged_peak) <= $(field "$output" budget))) || fail "over the smallest: $output"

# Killed, it goes on to the same losses and weights.
check_kills 2

# Ctrl-C finishes the step, saves, says how to go on.
status=0
"$PLIMSOLL" train --epochs 1000 --checkpoints "$work/int" --quiet --log "$work/int.log" \
  >/dev/null 2>"$work/int.err" &
pid=$!
until grep -q '"event":"step"' "$work/int.log" 2>/dev/null; do :; done
kill -INT "$pid"
wait "$pid" || status=$?
[[ $status == 130 ]] || fail "Ctrl-C exits $status, expected 130"
grep -q "resume with: plimsoll train --resume $work/int" "$work/int.err" || fail "$(cat "$work/int.err")"
"$PLIMSOLL" train --resume "$work/int" --epochs 1 --quiet --json | grep -q '"steps":' ||
  fail "it does not go on"

# Without a folder, too: it makes one.
cd "$work"
"$PLIMSOLL" train --epochs 1000 --batch 16 --quiet --log "$work/int2.log" >/dev/null 2>"$work/int2.err" &
pid=$!
until grep -q '"event":"step"' "$work/int2.log" 2>/dev/null; do :; done
kill -INT "$pid"
wait "$pid" || true
resume=$(sed -n 's/.*resume with: plimsoll train //p' "$work/int2.err")
[[ $resume == "--resume plimsoll-run-"* ]] || fail "$(cat "$work/int2.err")"
# shellcheck disable=SC2086
"$PLIMSOLL" train $resume --epochs 1 --quiet --json | grep -q '"steps":90' ||
  fail "it does not go on with a batch of 16"

# Mistakes are the user's: exit 2 and a name.
mistake() {
  local words=$1 status=0
  shift
  message=$("$PLIMSOLL" train "$@" 2>&1) || status=$?
  [[ $status == 2 ]] || fail "'$*' exits $status, expected 2: $message"
  [[ $message == *"$words"* ]] || fail "'$words' is not in: $message"
}
mistake "did you mean 'lenet'?" --model lenat
mistake "batch" --batch 0
mistake "precision" --precision f8
mistake "--budget" --budget 4XB
mistake "optimizer" --optimizer sdg
mistake "/no/such" --data /no/such
mistake "clip" --clip-norm -1
