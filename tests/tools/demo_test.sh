#!/usr/bin/env bash
# What ./dev demo shows: pictures are made, a network learns them within its budget, a chart follows,
# and what it says to try next works.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$(dirname "$PLIMSOLL")/.." && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
bash "$root/scripts/demo.sh" "$build" "$work/pictures" >out
accuracy=$(sed -n 's/^epoch  10 .* validation_accuracy \([0-9.]*\).*/\1/p' out)
awk -v a="$accuracy" 'BEGIN { exit !(a >= 0.95) }' || fail "accuracy '$accuracy': $(cat out)"
[[ -s pictures/run.jsonl ]] || fail "no run log"

# The picture: a curve that falls, the memory under its budget, no character that a file cannot have.
grep -q '^loss: 1\.[0-9]* after the first step, 0\.0' out || fail "no loss: $(cat out)"
grep -q 'of a budget of 8 MiB$' out || fail "no memory: $(cat out)"
grep -q '^ *8 MiB|' out || fail "no axis up to the budget: $(cat out)"
! LC_ALL=C grep -q '[^ -~]' out || fail "not plain in a file: $(cat out)"
while IFS= read -r line; do ((${#line} <= 80)) || fail "${#line} columns: $line"; done \
  < <(sed -n '/^loss: /,/^Try next/p' out)

# On a terminal it is drawn with blocks.
TERM=xterm LC_ALL=C.UTF-8 script -qec "stty cols 80; $PLIMSOLL train --steps 20 --chart" typed >/dev/null
grep -q '█' typed || fail "no blocks on a terminal: $(cat typed)"
TERM=xterm LC_ALL=C script -qec "stty cols 80; $PLIMSOLL train --steps 20 --chart" typed >/dev/null
! grep -q '█' typed || fail "blocks on a terminal without UTF-8: $(cat typed)"

# What to try next.
mapfile -t commands < <(sed -n '/^Try next/,$s/^    //p' out)
((${#commands[@]} == 3)) || fail "${#commands[@]} things to try: $(cat out)"
status=0
${commands[0]} >said 2>&1 || status=$?
[[ $status == 3 ]] || fail "'${commands[0]}' exits $status: $(cat said)"
grep -q 'smallest budget' said || fail "no budget that works: $(cat said)"
${commands[1]} >said 2>&1 || fail "'${commands[1]}' exits $?: $(cat said)"
[[ ${commands[2]} == "./dev demo memory" ]] || fail "${commands[2]}"
