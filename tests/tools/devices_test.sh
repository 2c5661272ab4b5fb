#!/usr/bin/env bash
# `plimsoll devices`: what people read, what programs read, what it says to a mistake.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

text=$("$PLIMSOLL" devices) || fail "devices exits $?"
for word in cpu:0 total free limit GiB; do
  [[ $text == *"$word"* ]] || fail "'$word' is not in: $text"
done
[[ $text == *cuda:0* || $text == *"No CUDA: "* ]] || fail "neither a GPU nor why there is none"
while IFS= read -r line; do
  [[ $line == "No CUDA: "* ]] || ((${#line} <= 80)) || fail "longer than 80 columns: $line"
done <<<"$text"

json=$("$PLIMSOLL" devices --json) || fail "devices --json exits $?"
for key in '"devices"' '"name": "cpu:0"' '"description"' '"holders"' '"why_no_cuda"'; do
  [[ $json == *"$key"* ]] || fail "$key is not in: $json"
done
for key in total free limit; do
  value=$(sed -n "s/^ *\"$key\": \([0-9]*\),*$/\1/p" <<<"$json" | head -n 1)
  ((value > 1048576)) || fail "$key is '$value'"
done
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; json.load(sys.stdin)' <<<"$json" || fail "not JSON"
fi

help=$("$PLIMSOLL" devices --help) || fail "--help exits $?"
[[ $help == *Examples:* ]] || fail "the help has no examples"
while IFS= read -r line; do
  ((${#line} <= 80)) || fail "longer than 80 columns: $line"
done <<<"$help"

for arguments in "--no-such-option" "surplus"; do
  status=0
  message=$("$PLIMSOLL" devices "$arguments" 2>&1 >/dev/null) || status=$?
  [[ $status == 2 ]] || fail "'devices $arguments' exits $status, expected 2"
  [[ $message == *"$arguments"* ]] || fail "'$arguments' is not named in: $message"
done
