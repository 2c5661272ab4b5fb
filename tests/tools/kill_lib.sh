# For tests that kill a training: check_kills COUNT kills it at COUNT random moments, resumes it, and
# compares losses and weights with those of a run that was left alone.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

training=(train --data digits --epochs 3 --checkpoint-steps 5 --average 0.99 --budget 6MiB
  --json --quiet --resume)
run() {
  "$PLIMSOLL" "${training[@]}" "$1"
}

losses_of() {
  sed -E 's/.*"losses":\[([^]]*)\].*/\1/' <<<"$1"
}

weights_of() {
  cat "$1/$(cat "$1/latest")"/{model,average}.safetensors | sha256sum
}

check_kills() {
  local count=$1 whole losses weights duration
  local begin=$EPOCHREALTIME
  whole=$(run "$work/whole")
  duration=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
  losses=$(losses_of "$whole")
  weights=$(weights_of "$work/whole")
  [[ $(tr -cd , <<<"$losses" | wc -c) == 134 ]] || fail "not 135 losses: $losses"
  RANDOM=7
  local i
  for ((i = 0; i < count; ++i)); do
    local folder=$work/$i
    "$PLIMSOLL" "${training[@]}" "$folder" >/dev/null &
    local pid=$!
    # A moment somewhere in the run, while it is under way.
    sleep "$(awk -v d="$duration" -v r="$RANDOM" 'BEGIN { print d * r / 32768 }')"
    kill -9 "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    local rest
    rest=$(run "$folder") || fail "resuming after kill $i"
    [[ $(losses_of "$rest") == "$losses" ]] || fail "other losses after kill $i"
    [[ $(weights_of "$folder") == "$weights" ]] || fail "other weights after kill $i"
    rm -rf "$folder"
  done
}
