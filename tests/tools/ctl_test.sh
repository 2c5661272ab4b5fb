#!/usr/bin/env bash
# `plimsoll ctl` moves the limit of a running training, which goes on with the same numbers.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Threads that wait do not spin: many of these runs are short, and tests run beside one another.
export OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work

"$PLIMSOLL" train --batch 256 --epochs 100000 --budget 32MiB --no-split --quiet --json \
  --log "$work/log" >"$work/out" &
pid=$!
until grep -q '"event":"step"' "$work/log" 2>/dev/null; do :; done

[[ $("$PLIMSOLL" ctl "$pid") == *"of 32 MiB used" ]] || fail "status"
[[ $(stat -c %a "$work/plimsoll") == 700 && $(stat -c %a "$work/plimsoll/$pid.sock") == 600 ]] ||
  fail "others can open the socket"

# Lower, within what it takes: holds at once or after a new plan.
[[ $("$PLIMSOLL" ctl "$pid" --budget 6MiB) == *"of 6 MiB used" ]] || fail "lowering"

# Too low: refused with the reason, and the old limit stays.
status=0
message=$("$PLIMSOLL" ctl "$pid" --budget 512KiB 2>&1) || status=$?
[[ $status == 3 && $message == *"optimizer 'adam'"* ]] || fail "too low: exits $status: $message"
[[ $("$PLIMSOLL" ctl "$pid") == *"of 6 MiB used" ]] || fail "the old limit did not stay"

kill -INT "$pid"
wait "$pid" || true
steps=$(sed -E 's/.*"steps":([0-9]+).*/\1/' "$work/out")
((steps > 0)) || fail "it did not go on: $(cat "$work/out")"
[[ ! -e $work/plimsoll/$pid.sock ]] || fail "the socket was left behind"

status=0
message=$("$PLIMSOLL" ctl 1 --budget 1GiB 2>&1) || status=$?
[[ $status == 2 ]] || fail "a process without a socket: exits $status: $message"
