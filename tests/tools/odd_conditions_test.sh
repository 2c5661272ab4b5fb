#!/usr/bin/env bash
# What a shell, a disk or a folder can do to a run that nobody meant: empty variables, closed outputs,
# names with any byte, links to nowhere, two runs at once, signals.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PLIMSOLL=$(realpath "$PLIMSOLL")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# A variable of the shell that is not set is no option left out: --data "$DATA" does not train digits.
for option in --data --model --log --checkpoints --resume --budget --best --optimizer; do
  refuses_command train 2 "$option: " --steps 1 "$option" ""
done
for option in --log --checkpoints --data; do
  refuses_command train 2 "$option: the value is empty" --steps 1 "$option" ""
  refuses_command train 2 "$option needs a value" --steps 1 "$option="
done
refuses_command data 2 "is empty" inspect ""
refuses_command plan 2 "is empty" --data ""
refuses_command replay 2 "is empty" ""

# A picture whose file has gone is named before training, and can be left out.
mkdir -p pictures/one pictures/two
cp "$here"/../data/recorded/images/42*.jpg pictures/one
cp "$here"/../data/recorded/images/rgb*.png pictures/two
ln -s nowhere.jpg pictures/one/gone.jpg
refuses_command train 2 "pictures/one/gone.jpg" --data pictures --model lenet --size 32 --batch 2 --steps 1
"$PLIMSOLL" train --data pictures --model lenet --size 32 --batch 2 --steps 1 --skip-errors 1 --quiet \
  >out 2>err || fail "--skip-errors does not leave it out: $(cat err)"
rm pictures/one/gone.jpg

# Names with spaces, quotes, newlines, a dash in front; folders of them are resumed.
for name in "with space" "with'quote\"s" $'with\nnewline' "-dash"; do
  cp -r pictures "./$name"
  "$PLIMSOLL" train --data="$name" --model lenet --size 32 --batch 2 --steps 1 --quiet \
    --checkpoints "./$name.run" >out 2>err || fail "'$name' exits $?: $(cat err)"
  "$PLIMSOLL" train --resume "./$name.run" --steps 2 --quiet >out 2>err ||
    fail "'$name' is not resumed: $(cat err)"
done

# A batch is never larger than the data, for the plan and for the pipeline.
"$PLIMSOLL" plan --data pictures --model lenet --size 32 --batch 100000 --budget 64MiB >out || fail "plan exits $?"
"$PLIMSOLL" train --data pictures --model lenet --size 32 --batch 100000 --budget 64MiB --steps 1 --quiet >out 2>err ||
  fail "what plan accepts train refuses: $(cat err)"

# A budget that a refusal of evaluate names is enough.
refuses_command evaluate 3 "a budget that is enough:" "./with space.run" --budget 450KiB
enough=$(sed -n "s/.*a budget that is enough: \([0-9A-Za-z]*\).*/\1/p" err)
"$PLIMSOLL" evaluate "./with space.run" --budget "$enough" >out 2>err || fail "not within $enough: $(cat err)"

# Bytes that are no text: it trains; what keeps the name says that it cannot.
latin=$'caf\xe9'
cp -r pictures "$latin"
"$PLIMSOLL" train --data "$latin" --model lenet --size 32 --batch 2 --steps 1 --json >out 2>err ||
  fail "a name that is not UTF-8 exits $?: $(cat err)"
refuses_command train 2 "not valid UTF-8" --data "$latin" --model lenet --size 32 --batch 2 --steps 1 \
  --quiet --checkpoints latin.run

# Without any of its outputs a run goes on.
"$PLIMSOLL" train --steps 3 --log closed.jsonl >&- 2>&- <&- || fail "exits $? with everything closed"
stepped closed.jsonl 3 || fail "with everything closed it does not train"
! grep -qv '^{' closed.jsonl || fail "an output went into the run log"

# An output that is full is an error of its own, after the work.
status=0
"$PLIMSOLL" train --steps 2 >/dev/full 2>err || status=$?
[[ $status == 1 ]] && grep -q "No space left" err || fail "a full output exits $status: $(cat err)"

# No environment, and none of the folders that it names.
env -i "$PLIMSOLL" train --steps 1 --quiet >out 2>err || fail "env -i exits $?: $(cat err)"
HOME=/nonexistent TMPDIR=/nonexistent XDG_RUNTIME_DIR=/nonexistent \
  "$PLIMSOLL" train --steps 1 --quiet >out 2>err || fail "no folders: exits $?: $(cat err)"

# A folder that goes away under a run that stands in it.
mkdir away
(
  cd away
  rmdir ../away
  "$PLIMSOLL" train --steps 1 --quiet >/dev/null 2>../err
) || fail "in a folder that is gone: exits $?: $(cat err)"

# Two runs write to one log, line by line; two that resume one folder do not mix.
"$PLIMSOLL" train --steps 20 --quiet --log both.jsonl >/dev/null &
first=$!
"$PLIMSOLL" train --steps 20 --quiet --log both.jsonl >/dev/null
wait "$first"
[[ $(grep -c '"event":"step"' both.jsonl) == 40 ]] || fail "steps are missing from a shared log"
! grep -qvE '^\{.*\}$' both.jsonl || fail "lines of a shared log are mixed"
"$PLIMSOLL" train --epochs 1 --checkpoints shared --quiet >/dev/null
"$PLIMSOLL" train --epochs 100000 --resume shared --quiet --log holds.jsonl >/dev/null 2>&1 &
first=$!
wait_for 60 stepped holds.jsonl 46
refuses_command train 2 "another run is writing to shared" --epochs 3 --resume shared --quiet
kill -TERM "$first"
status=0
wait "$first" || status=$?
[[ $status == 143 ]] || fail "the first exits $status"

# Stopped and continued as by Ctrl-Z and fg, it goes on; nohup stays so.
(
  trap '' HUP
  exec "$PLIMSOLL" train --epochs 100000 --quiet --log nohup.jsonl --checkpoints nohup >/dev/null 2>&1
) &
running=$!
wait_for 60 stepped nohup.jsonl
kill -STOP "$running"
kill -CONT "$running"
kill -HUP "$running"
at=$(grep -c '"event":"step"' nohup.jsonl)
wait_for 60 stepped nohup.jsonl $((at + 20))
kill -TERM "$running"
status=0
wait "$running" || status=$?
[[ $status == 143 ]] || fail "under nohup it exits $status"

# Numbers that only look like numbers.
for value in 0x10 1e3 1_000 " 5" ５ +-1 --; do
  refuses_command train 2 "--steps" --steps="$value"
done
for value in nan -1 "" 8GiBs 1e9 0.5 110% 99999999999999999999999GiB; do
  refuses_command train 2 "--budget" --steps 1 --budget="$value"
done

# One of each thing is one.
mkdir -p single/one
cp pictures/one/"$(ls pictures/one | head -n 1)" single/one
text=$("$PLIMSOLL" data inspect single)
[[ $text == "1 image, "*"1 class:"* ]] || fail "one is not singular: $text"
refuses_command data 2 "this machine has" bench digits --threads 1000000000
