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

# A GPU, as drivers of different candour show it.
if [[ -z ${PLIMSOLL_FAKE_DRIVER:-} ]]; then
  echo "no CUDA in this build: nothing is asked about GPUs"
  exit 0
fi

# with_driver NVML ARGUMENT...: `plimsoll devices` on the fake GPU; NVML is told, hidden, refused or
# absent.
with_driver() {
  local folders=$PLIMSOLL_FAKE_DRIVER/cuda nvml=$1
  shift
  [[ $nvml == absent ]] || folders+=:$PLIMSOLL_FAKE_DRIVER/nvml
  PLIMSOLL_FAKE_NVML=$nvml LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
    "$PLIMSOLL" devices "$@"
}
gpu_part() { sed -n '/^cuda:0 /,$p'; }
one_line() { tr -s ' \n' ' '; }
note="the driver hides what this process uses: figures are from the device's free memory, in which \
other processes show"

for nvml in told hidden refused; do
  text=$(with_driver "$nvml" | gpu_part)
  [[ $text == *"Fake GPU"*"total     80 GiB"*"free      60 GiB"*"limit     60 GiB"* ]] ||
    fail "$nvml: $text"
  [[ $(one_line <<<"$text") == *"20 GiB other processes and the system"* ]] || fail "$nvml: $text"
  case $nvml in
    told) [[ $text != *note* ]] || fail "a note without reason: $text" ;;
    *) [[ $(one_line <<<"$text") == *"note $note"* ]] || fail "$nvml: no note in: $text" ;;
  esac
  while IFS= read -r line; do
    ((${#line} <= 80)) || fail "longer than 80 columns: $line"
  done <<<"$text"
  [[ $(one_line <<<"$text") == *" with cuBLASLt "*cuDNN* ]] || fail "no libraries in: $text"
done
with_driver told --json | grep -q '"usage": "unknown"' || fail "it was not opened"
json=$(with_driver hidden --json)
[[ $json == *'"usage": "free memory"'*"\"note\": \"$note\""* ]] || fail "no note in: $json"

# Without the management library what is free is not known, and nothing is made up.
text=$(with_driver absent | gpu_part)
[[ $(one_line <<<"$text") == *"free unknown "*"limit unknown "*"note $note"* ]] || fail "absent: $text"
[[ $text != *held* ]] || fail "who holds what is not known: $text"
json=$(with_driver absent --json | sed -n '/"cuda:0"/,$p')
[[ $json == *'"free": null'*'"limit": null'*'"holders": []'* ]] || fail "absent: $json"

# One that cannot be opened is listed as far as it goes.
text=$(with_driver told --open | gpu_part) || fail "--open exits $?"
[[ $(one_line <<<"$text") == *"60 GiB"*"note it cannot be opened: "*NOT_SUPPORTED* ]] ||
  fail "--open: $text"
