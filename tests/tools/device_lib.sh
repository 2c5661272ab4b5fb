# For tests of the command on one device: check_device NAME AMPLE, where a small transformer has
# plenty of room within AMPLE.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# field LINE KEY: the first number called KEY in JSON of one line.
field() {
  grep -oE "\"$2\":-?[0-9][0-9.e+-]*" <<<"$1" | head -n 1 | cut -d: -f2
}

# json TEXT: it is JSON, as far as anybody here can tell.
json() {
  [[ $1 == "{"*"}" ]] || fail "not JSON: $1"
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; json.load(sys.stdin)' <<<"$1" || fail "not JSON: $1"
  fi
}

losses_of() {
  sed -E 's/.*"losses":\[([^]]*)\].*/\1/' <<<"$1"
}

# Ends the test as skipped where there is no such device; ctest knows the status.
need_device() {
  local devices
  devices=$("$PLIMSOLL" devices --json)
  if [[ $devices != *"\"name\": \"$1\""* ]]; then
    echo "$0: Skipped"
    echo "no $1: $(sed -n 's/.*"why_no_cuda": "\(.*\)".*/\1/p' <<<"$devices")"
    exit 77
  fi
}

model=(--model gpt2_tiny --batch 8 --no-split)

# train DEVICE ARGUMENT...: its last line, checked against what it promises. Sets $output.
train() {
  output=$("$PLIMSOLL" train "${model[@]}" --device "$@" --quiet --json) || fail "train $*: exits $?"
  json "$output"
  [[ $(field "$output" planned_peak) == "$(field "$output" measured_peak)" ]] ||
    fail "train $*: not the peak that was planned: $output"
  (($(field "$output" charged_peak) <= $(field "$output" budget))) ||
    fail "train $*: over the budget: $output"
  [[ $(losses_of "$output") =~ ^[0-9.,e-]+$ ]] || fail "train $*: losses: $output"
}

check_devices() {
  local text json
  text=$("$PLIMSOLL" devices) || fail "devices exits $?"
  [[ $text == *"$1"* ]] || fail "'$1' is not in: $text"
  json=$("$PLIMSOLL" devices --json)
  json "$json"
  json=${json#*"\"name\": \"$1\""}
  for key in total free limit; do
    (($(figure "$json" "$key") > 1024 * 1024)) || fail "$key of $1: $json"
  done
}

# check_refusal DEVICE TINY: leaves the smallest budget that works in $smallest.
check_refusal() {
  local command
  for command in plan train; do
    (cd "$work" && refuses_command "$command" 3 "smallest budget for this batch: " \
      "${model[@]}" --device "$1" --budget "$2") || exit 1
    grep -q "largest batch for this budget: " "$work/err" || fail "$command: $(cat "$work/err")"
  done
  smallest=$(sed -n 's/^smallest budget for this batch: //p' "$work/err")
  [[ -n $smallest ]] || fail "no smallest budget: $(cat "$work/err")"
}

# Leaves a budget that is too small in $tiny, the smallest in $smallest, six losses in $expected.
check_device() {
  local device=$1 ample=$2 plan text
  check_devices "$device"

  text=$("$PLIMSOLL" plan "${model[@]}" --device "$device" --budget "$ample") || fail "plan: $?"
  [[ $text == "fits: "*"parameters "*"optimizer "*"training with 8"* ]] || fail "no plan: $text"
  plan=$("$PLIMSOLL" plan "${model[@]}" --device "$device" --budget "$ample" --json)
  json "$plan"
  (($(field "$plan" total) <= $(field "$plan" budget))) || fail "over the budget: $plan"
  # Room for the driver and a little.
  tiny=$(($(field "$plan" runtime) + 4 * 1024 * 1024))

  # What a plan says is what a run takes; ended and gone on with, it has all losses.
  train "$device" --budget "$ample" --steps 3 --checkpoints "$work/run"
  [[ $(field "$plan" planned_peak) == "$(field "$output" measured_peak)" ]] ||
    fail "planned $plan, measured $output"
  begun=$(losses_of "$output")
  train "$device" --budget "$ample" --steps 6 --resume "$work/run"
  expected=$(losses_of "$output")
  [[ $expected == "$begun,"* ]] || fail "$begun, and when gone on with: $output"

  # The smallest budget that is named works, with the same losses in one go.
  check_refusal "$device" "$tiny"
  train "$device" --budget "$smallest" --steps 6
  [[ $(losses_of "$output") == "$expected" ]] || fail "other losses within $smallest: $output"
}
