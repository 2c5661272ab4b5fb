#!/usr/bin/env bash
# The command's own options, and what it says to a mistyped one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $("$PLIMSOLL" --version) =~ ^plimsoll\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "--version"
"$PLIMSOLL" --help | grep -q "Exit codes" || fail "--help does not list the exit codes"
[[ $("$PLIMSOLL") == "$("$PLIMSOLL" --help)" ]] || fail "no arguments does not show the help"

while IFS= read -r line; do
  ((${#line} <= 80)) || fail "longer than 80 columns: $line"
done < <("$PLIMSOLL" --help)

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
