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
refuses_command train 2 "nan is not a finite number" --lr nan
refuses_command train 2 "inf is not a finite number" --lr inf
refuses_command train 2 "'' is not a number" --lr ""
refuses_command train 2 "'fast' is not a number" --lr fast
refuses_command train 2 "not above 0" --lr 0
refuses_command train 2 "weight-decay" --weight-decay -7
refuses_command train 2 "too large" --batch 9223372036854775807
refuses_command train 2 "patience" --patience -1

# None is not "as many as usual".
for option in --epochs --steps --batch --validation-batch --elements --size --classes --accumulate --threads; do
  for value in 0 -1 1.5 1e3 "" many; do
    refuses_command train 2 "$option: " "$option" "$value"
  done
  refuses_command train 2 "too large" "$option" 99999999999999999999
done

# More threads than could ever be busy are refused, and what the machine has is named.
for threads in 1000 1000000000; do
  refuses_command train 2 "this machine has $(nproc) CPU" --threads "$threads"
done

# What only shows at the end of an epoch is refused before the first.
refuses_before_training() {
  refuses_command train 2 "$@" --quiet --epochs 1 --log begun.jsonl
  ! grep -q '"event":"step"' begun.jsonl 2>/dev/null || fail "'$*' is refused after training"
}
refuses_before_training "did you mean 'validation_accuracy'?" --best validation_acuracy --checkpoints best
refuses_before_training "no validation data" --best validation_loss --checkpoints best --no-validation
refuses_before_training "--checkpoints" --best validation_accuracy
refuses_before_training "no validation data" --patience 2 --no-validation
refuses_before_training "no validation data" --patience 2 --data synthetic
[[ ! -e best ]] || fail "a refused run left a folder"

status=0
"$PLIMSOLL" train plan --steps 1 >out 2>err || status=$?
[[ $status == 2 ]] || fail "two commands exit $status: $(cat err)"

# A loss that is no number ends the run and its success; the user may insist.
status=0
"$PLIMSOLL" train --optimizer sgd --lr 1e30 --epochs 1 --quiet >out 2>err || status=$?
[[ $status == [12] ]] || fail "a loss of NaN exits $status: $(cat err)"
grep -qi "loss" err || fail "a loss of NaN is not named: $(cat err)"
"$PLIMSOLL" train --optimizer sgd --lr 1e30 --epochs 1 --quiet --allow-nan >out 2>err ||
  fail "--allow-nan exits $?: $(cat err)"

# Nobody's training ends because what it says cannot be written.
"$PLIMSOLL" train --epochs 1 --json --checkpoints said 2>/dev/full >out || fail "exits $? with a full stderr"
grep -q '"steps":45' out || fail "no result: $(cat out)"
"$PLIMSOLL" train --epochs 1 --log log.jsonl >&- || fail "exits $? with stdout closed"
stepped log.jsonl 45 || fail "with stdout closed it did not train to the end"
! grep -vq '^{' log.jsonl || fail "the run log has other lines: $(grep -v '^{' log.jsonl | head -n 2)"

# Those who stop processes get a checkpoint, as Ctrl-C does.
for signal in TERM:143 HUP:129 USR1:138; do
  "$PLIMSOLL" train --epochs 1000 --quiet --checkpoints "run-$signal" --log "$signal.log" >/dev/null 2>err &
  running=$!
  wait_for 60 stepped "$signal.log"
  kill -s "${signal%:*}" "$running"
  status=0
  wait "$running" || status=$?
  [[ $status == "${signal#*:}" ]] || fail "$signal exits $status: $(cat err)"
  [[ -s run-$signal/latest ]] || fail "$signal leaves no checkpoint"
done

# So does what limits a process: time of the processor, and the size of files.
status=0
(ulimit -St 1 && exec "$PLIMSOLL" train --epochs 100000 --quiet --checkpoints run-cpu) >/dev/null 2>err || status=$?
[[ $status == 152 && -s run-cpu/latest ]] || fail "ulimit -t exits $status: $(cat err)"
grep -q "resume with: plimsoll train --resume run-cpu" err || fail "ulimit -t loses the run: $(cat err)"
status=0
(ulimit -f 40 && exec "$PLIMSOLL" train --epochs 1 --quiet --checkpoints run-file) >/dev/null 2>err || status=$?
[[ $status == 1 ]] && grep -q 'raise `ulimit -f`' err || fail "ulimit -f exits $status: $(cat err)"

# An option twice, and options after "--".
refuses_command train 2 "--steps is given more than once" --steps 1 --steps 2
refuses_command train 2 "unexpected argument '--steps' after '--'" -- --steps 1

# A folder that is mistyped begins a new run, and says so in any case.
"$PLIMSOLL" train --resume mistyped --steps 1 --quiet >/dev/null 2>err
grep -q "there is no run to resume" err || fail "a run starts over without a word: $(cat err)"

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
