#!/usr/bin/env bash
# The command's own options, and what it says to a mistyped one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $("$PLIMSOLL" --version) =~ ^plimsoll\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "--version"
"$PLIMSOLL" --help | grep -q "Exit codes" || fail "--help does not list the exit codes"
[[ $("$PLIMSOLL") == "$("$PLIMSOLL" --help)" ]] || fail "no arguments does not show the help"

commands=(train tune evaluate predict generate plan ctl report watch devices replay place data "data bench" "data inspect"
  "data pack" "data unpack" "data cache" "data cache ls" "data cache verify" "data cache clear")
for command in "" "${commands[@]}"; do
  # shellcheck disable=SC2086
  help=$("$PLIMSOLL" $command --help) || fail "'$command --help' exits $?"
  ! grep -E '\b(INT|UINT|FLOAT)\b' <<<"$help" || fail "'$command --help' shows types of C++"
  [[ $help != *$'\n\n\n'* ]] || fail "'$command --help' has two empty lines"
  while IFS= read -r line; do
    ((${#line} <= 80)) || fail "'$command --help': more than 80 columns: $line"
  done <<<"$help"
done

# says WORDS ARGUMENT...: exits 2 and says WORDS.
says() {
  local words=$1 status=0 message
  shift
  message=$("$PLIMSOLL" "$@" 2>&1) || status=$?
  [[ $status == 2 ]] || fail "'$*' exits $status, expected 2: $message"
  [[ $message == *"$words"* ]] || fail "'$*': no \"$words\" in: $message"
}
says "plimsoll train: unknown option '--modle'; did you mean '--model'? See" train --modle lenet
says "unknown option '--modle'; did you mean '--model'?" train x --modle
says "unknown option '--modle'; did you mean '--model'?" train --modle=lenet
says "unknown option '-budget'; did you mean '--budget'?" train -budget 4GiB
says "unknown option '--checkpoint'; did you mean '--checkpoints'?" train --checkpoint run
says "unknown option '--xyzzy'; see" train --xyzzy
says "unexpected argument 'lenet'" train lenet
says "there is no command 'trian'; did you mean 'train'?" trian
says "'sdg' is not one of sgd, adam, adamw, adamw_8bit, rmsprop, adagrad, lazy_adam, adadelta, nadam, lion, lamb, adafactor; did you mean 'sgd'?" train --optimizer sdg
says "'lenat' is not one of" train --model lenat
says "--batch needs a value" train --batch
says "--seed: 'x' is not a whole number" train --seed x

says "plimsoll data: there is no command 'inspekt'; did you mean 'inspect'? See" data inspekt photos
says "plimsoll data: name one of its commands: bench, inspect, pack, unpack, cache; see" data
says "--model: 'lenat' is not one of" data bench digits --model lenat
says "--device h200: it can be planned for, with \`plimsoll plan --device h200\`, but is not in this machine" train --device h200
says "--size 8 or more" train --size 7
says "--classes 5: digits have 10 classes" train --classes 5
says "--compression gzip: only TFRecord files can be compressed" data pack photos out --format mds --compression gzip
says "neither records nor a folder" data pack "${BASH_SOURCE[0]}" out
says "nothing: there is no such file or folder" data pack nothing out

# Names of C++ say nothing to who reads a command's messages.
for arguments in "train --device cuba:0" "train --log /nonexistent/run.jsonl --steps 1" "data bench digits --budget 1KiB"; do
  # shellcheck disable=SC2086
  message=$("$PLIMSOLL" $arguments 2>&1) && fail "'$arguments' exits 0"
  [[ $message != '['[A-Z]* ]] || fail "'$arguments' begins with a name of C++: $message"
done

# The help of a command shows its own examples.
! "$PLIMSOLL" data cache ls --help | grep -q "data bench" || fail "examples of another command"
(($("$PLIMSOLL" data bench --help | grep -c "A folder of images") == 1)) || fail "the argument is listed twice"

for arguments in "--no-such-option" "no-such-command"; do
  status=0
  message=$("$PLIMSOLL" "$arguments" 2>&1) || status=$?
  [[ $status == 2 ]] || fail "'$arguments' exits $status, expected 2"
  [[ $message == *"$arguments"* ]] || fail "'$arguments' is not named in: $message"
done

[[ $("$PLIMSOLL" frobnicate 2>&1 || true) == *"there is no command 'frobnicate'"* ]] ||
  fail "an unknown command is not called one"
[[ $("$PLIMSOLL" devices surplus 2>&1 || true) == *'`plimsoll devices --help`'* ]] ||
  fail "a mistake does not lead to the command's own help"

# Output that is lost is not success.
if [[ -w /dev/full ]]; then
  status=0
  message=$("$PLIMSOLL" devices --json 2>&1 >/dev/full) || status=$?
  [[ $status == 1 ]] || fail "a full disk: exits $status, expected 1"
  [[ $message == *"could not be written"* ]] || fail "a full disk is not named in: $message"
fi
