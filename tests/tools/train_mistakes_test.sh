#!/usr/bin/env bash
# `plimsoll train` where users and machines go wrong: options that say nothing, outputs that are
# closed or full, signals that stop processes, files that were damaged.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
PLIMSOLL=$(realpath "$PLIMSOLL")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
quick=(train --steps 2 --quiet --json)

# What is empty or nothing is not taken for what was not given.
for option in --budget --host-budget; do
  refuses_command train 2 "$option" "$option" ""
  refuses_command train 2 "few MiB" "$option" 0
done
refuses_command train 2 "nan is not above 0" --lr nan
refuses_command train 2 "no finite number" --lr inf
refuses_command train 2 "not above 0" --lr 0
refuses_command train 2 "weight-decay" --weight-decay -7
refuses_command train 2 "too large" --batch 9223372036854775807
refuses_command train 2 "patience" --patience -1
status=0
"$PLIMSOLL" train plan --steps 1 >out 2>err || status=$?
[[ $status == 2 ]] || fail "two commands exit $status: $(cat err)"

# Nobody's training ends because what it says cannot be written.
"$PLIMSOLL" train --epochs 1 --json --checkpoints said 2>/dev/full >out || fail "exits $? with a full stderr"
grep -q '"steps":45' out || fail "no result: $(cat out)"
"$PLIMSOLL" train --epochs 1 --log log.jsonl >&- || true
! grep -vq '^{' log.jsonl || fail "the run log has other lines: $(grep -v '^{' log.jsonl | head -n 2)"

# Those who stop processes get a checkpoint, as Ctrl-C does.
for signal in TERM:143 HUP:129; do
  "$PLIMSOLL" train --epochs 1000 --quiet --checkpoints "run-$signal" --log "$signal.log" >/dev/null 2>err &
  running=$!
  for _ in {1..200}; do
    ! grep -q '"event":"step"' "$signal.log" 2>/dev/null || break
    sleep 0.05
  done
  kill -s "${signal%:*}" "$running"
  status=0
  wait "$running" || status=$?
  [[ $status == "${signal#*:}" ]] || fail "$signal exits $status: $(cat err)"
  [[ -s run-$signal/latest ]] || fail "$signal leaves no checkpoint"
done

# How long a resumed run goes on is what is said last.
"$PLIMSOLL" "${quick[@]}" --checkpoints longer >/dev/null
"$PLIMSOLL" train --resume longer --epochs 1 --quiet --json >out
grep -q '"steps":45' out || fail "--epochs does not go on: $(cat out)"

# A bit that flipped is found before anything is written.
checkpoint=longer/$(cat longer/latest)
printf '\x55' | dd of="$checkpoint/model.safetensors" bs=1 seek=4000 conv=notrunc status=none
refuses_command train 2 "model.safetensors: is damaged" --resume longer --epochs 2 --quiet --json

# Names that are no UTF-8 cannot be recorded, and are refused as what they are.
mkdir "$(printf 'caf\351')"
status=0
"$PLIMSOLL" "${quick[@]}" --checkpoints "$(printf 'caf\351/run')" >out 2>err || status=$?
[[ $status == 0 ]] || fail "a folder with an old name exits $status: $(cat err)"
