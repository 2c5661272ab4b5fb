#!/usr/bin/env bash
# What one sees of a run: the unit of its speed, numbers as people write them, terminals of any width.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
PLIMSOLL=$(realpath "$PLIMSOLL")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# terminal COLUMNS TERM ARGUMENT...: what `train` writes to such a terminal. Leaves the file `typed`.
terminal() {
  local columns=$1 term=$2
  shift 2
  TERM=$term script -qec "stty cols $columns; $(printf '%q ' "$PLIMSOLL" train "$@")" typed >/dev/null ||
    fail "train $* exits $? on $columns columns: $(cat typed)"
}

# Every line as it stands when it ends or is drawn again, without what moves the cursor.
drawn() {
  sed '1d;$d' typed | tr '\r' '\n' | sed 's/\x1b\[K//g'
}

# The unit is that of what is learned.
text=$("$PLIMSOLL" train --epochs 1)
[[ $text == *" images/s"* ]] || fail "pictures: $text"
text=$("$PLIMSOLL" train --model mlp --epochs 1)
[[ $text == *" examples/s"* ]] || fail "rows: $text"
text=$("$PLIMSOLL" train --model gpt2_tiny --batch 4 --size 16 --elements 8)
[[ $text == *" tokens/s"* && $text != *images* ]] || fail "text: $text"

# One is singular; no exponents, no bare numbers of bytes.
text=$("$PLIMSOLL" train --steps 1)
[[ $text == *$'\n1 step in '* ]] || fail "one step: $text"
for steps in 1 7; do
  text=$("$PLIMSOLL" train --steps $steps)
  ! grep -E '[0-9]e[+-][0-9]' <<<"$text" || fail "an exponent in: $text"
  ! grep -E '[0-9]{5,}' <<<"$text" || fail "an ungrouped number in: $text"
done

# A bar that is drawn again stays within the terminal; what has no room is left out.
for columns in 120 80 60 40 20 10; do
  terminal "$columns" xterm --epochs 2
  while IFS= read -r line; do
    [[ $line == epoch* || $line == "step "[0-9]* || $line == "["* ]] || continue
    ((${#line} <= columns)) || fail "$columns columns, ${#line} taken: $line"
  done < <(drawn)
  lines=$(drawn)
  if ((columns >= 20)); then
    grep -q "^\[\|^step " <<<"$lines" || fail "no progress on $columns columns: $(cat -v typed)"
  fi
  grep -q "validation_accuracy 0\.[0-9]*" <<<"$lines" ||
    fail "no metrics on $columns columns: $(cat -v typed)"
done

# A terminal that cannot draw again gets lines.
for term in dumb ""; do
  terminal 80 "$term" --epochs 1
  ! grep -q $'\x1b' typed || fail "escape sequences on TERM='$term': $(cat -v typed)"
  grep -q "^epoch   1  " typed || fail "no line on TERM='$term': $(cat -v typed)"
done

# So does a file.
"$PLIMSOLL" train --epochs 1 >out 2>err
! grep -q $'\x1b' out err || fail "escape sequences in a file"

# Ctrl-C on a terminal says what happens.
mkfifo keys
TERM=xterm script -qec "$(printf '%q ' "$PLIMSOLL" train --epochs 100000 --checkpoints int --log int.log)" typed \
  <keys >/dev/null &
session=$!
exec 3>keys
wait_for 60 stepped int.log
printf '\003' >&3
status=0
wait "$session" || status=$?
exec 3>&-
[[ $status == 130 ]] || fail "Ctrl-C exits $status: $(cat -v typed)"
grep -q "stopping after this step and its checkpoint" typed || fail "Ctrl-C says nothing: $(cat -v typed)"
grep -q "resume with: plimsoll train --resume int" typed || fail "Ctrl-C: no way on: $(cat -v typed)"

# Who closes a pipe does not end a run.
"$PLIMSOLL" train --epochs 3 --log pipe.log 2>err | head -n 1 >/dev/null || true
stepped pipe.log 135 || fail "a closed pipe ended the run after $(grep -c '"event":"step"' pipe.log) steps"
