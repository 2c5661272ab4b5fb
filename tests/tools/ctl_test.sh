#!/usr/bin/env bash
# `plimsoll ctl` moves the limit of a running training, which goes on with the same numbers.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

PLIMSOLL=$(realpath "$PLIMSOLL")
work=$(mktemp -d)
trap 'kill -9 "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work
cd "$work"

# expect STATUS WORD ARGUMENT...: `ctl` exits STATUS and says WORD. Leaves $message.
expect() {
  local expected=$1 word=$2 status=0
  shift 2
  message=$("$PLIMSOLL" ctl "$@" 2>&1) || status=$?
  [[ $status == "$expected" ]] || fail "ctl $*: exits $status, expected $expected: $message"
  [[ $message == *"$word"* ]] || fail "ctl $*: no '$word' in: $message"
}

# A socket that a killed run left behind; the next run removes it.
pid=
python3 - "$work" <<'PY'
import os, socket, sys
os.mkdir(sys.argv[1] + "/plimsoll", 0o700)
socket.socket(socket.AF_UNIX).bind(sys.argv[1] + "/plimsoll/999999.sock")
PY
[[ -S $work/plimsoll/999999.sock ]] || fail "no leftover to remove"

"$PLIMSOLL" train --batch 256 --epochs 100000 --budget 32MiB --no-split --quiet --json \
  --log "$work/log" >"$work/out" &
pid=$!
wait_for 60 stepped "$work/log"
[[ ! -e $work/plimsoll/999999.sock ]] || fail "the socket of a killed run was left behind"

expect 0 "of 32 MiB used" "$pid"
[[ $(stat -c %a "$work/plimsoll") == 700 && $(stat -c %a "$work/plimsoll/$pid.sock") == 600 ]] ||
  fail "others can open the socket"

# Without a process, all runs.
expect 0 "of 32 MiB used"
[[ $message =~ ^\ *$pid\  ]] || fail "the run is not listed: $message"

# Lower, within what it takes: holds at once or after a new plan.
expect 0 "the limit was 32 MiB and is now 6 MiB" "$pid" --budget 6MiB
[[ $message == *"of 6 MiB used" ]] || fail "lowering: $message"

# Too low: refused with the reason, and the old limit stays.
expect 3 "optimizer 'adam'" "$pid" --budget 512KiB
expect 0 "of 6 MiB used" "$pid"

# The answer is the run's verdict: some steps later the limit is what was said.
limit="6 MiB"
for size in 5632KiB 5MiB 4608KiB 4MiB 3584KiB 3MiB 2560KiB 2MiB 1536KiB; do
  status=0
  message=$("$PLIMSOLL" ctl "$pid" --budget "$size" 2>&1) || status=$?
  if [[ $status == 0 ]]; then
    limit=$(sed -n 's/.*used$/&/; s/.* of \(.*\) used$/\1/p' <<<"$message")
  else
    [[ $status == 3 ]] || fail "--budget $size: exits $status: $message"
  fi
  wait_for 60 stepped "$work/log" $(($(grep -c '"event":"step"' "$work/log") + 3))
  expect 0 "of $limit used" "$pid"
done
expect 0 "is now 32 MiB" "$pid" --budget 32MiB

# A share of the device, and what no device has.
expect 0 "is now " "$pid" --budget 50%
expect 2 "more than cpu:0 has" "$pid" --budget 1000TiB
expect 2 "--budget" "$pid" --budget 0
expect 2 "--budget" "$pid" --budget 150%
expect 2 "--budget" "$pid" --budget ""
expect 2 "name the run" --budget 1GiB
limit_before=$("$PLIMSOLL" ctl "$pid")

# Requests that are none, past the command: refused, and the run goes on.
python3 - "$work/plimsoll/$pid.sock" <<'PY' || fail "the socket takes what is no limit"
import json, socket, sys
for text in ['{"budget":-1}', '{"budget":1e308}', '{"budget":"1"}', '{"budget":null}', '{"budget":0}',
             '{"budget":18446744073709551615}', '{"budget":99999999999999999999}', '[]', 'nonsense',
             '{"budget":1.5}', '\x01\x02']:
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(text.encode() + b"\n")
    answer = json.loads(s.makefile().readline())
    assert "error" in answer and answer["mistake"], (text, answer)
PY
[[ $("$PLIMSOLL" ctl "$pid") == "${limit_before%%:*}"* ]] || fail "it no longer answers"
[[ $("$PLIMSOLL" ctl "$pid") == *"${limit_before#* of }" ]] || fail "the limit moved: $limit_before"

# A stopped run does not keep anybody waiting, and does not take the request later on.
kill -STOP "$pid"
expect 1 "it is stopped" "$pid" --timeout 200ms
expect 1 "did not answer within 200 ms" "$pid" --budget 16MiB --timeout 200ms
began=$SECONDS
expect 0 "it is stopped"
((SECONDS - began < 10)) || fail "one stopped run keeps the list waiting"
for _ in {1..20}; do "$PLIMSOLL" ctl "$pid" --timeout 10ms >/dev/null 2>&1 & done
expect 1 "it is stopped" "$pid" --timeout 500ms
kill -CONT "$pid"
wait_for 60 stepped "$work/log" $(($(grep -c '"event":"step"' "$work/log") + 3))
expect 0 "${limit_before#* of }" "$pid"

kill -INT "$pid"
wait "$pid" || true
steps=$(sed -E 's/.*"steps":([0-9]+).*/\1/' "$work/out")
((steps > 0)) || fail "it did not go on: $(cat "$work/out")"
[[ ! -e $work/plimsoll/$pid.sock ]] || fail "the socket was left behind"

# Runs that are none.
expect 2 "no training run with process id 1 " 1 --budget 1GiB
expect 2 "PID" nonsense
expect 2 "PID" 0
expect 0 "no training run"
expect 2 "--timeout" 1 --timeout soon

# One that was killed leaves its socket to whoever looks next.
"$PLIMSOLL" train --epochs 100000 --quiet --log "$work/log2" >/dev/null &
pid=$!
wait_for 60 stepped "$work/log2"
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
[[ -S $work/plimsoll/$pid.sock ]] || fail "a killed run removed its socket"
expect 2 "no training run with process id $pid" "$pid"
[[ ! -e $work/plimsoll/$pid.sock ]] || fail "ctl leaves the socket of a killed run"

# After a lowered limit the summary does not read as if it had been exceeded.
"$PLIMSOLL" train --batch 256 --epochs 100000 --budget 32MiB --no-split --log "$work/log3" >"$work/out3" 2>&1 &
pid=$!
wait_for 60 stepped "$work/log3"
expect 0 "is now 6 MiB" "$pid" --budget 6MiB
kill -INT "$pid"
wait "$pid" || true
peak=$(grep '^budget peak ' "$work/out3") || fail "no peak: $(cat "$work/out3")"
[[ $peak == *"of 32 MiB, the limit at that time; it is 6 MiB now" || $peak == *" of 6 MiB" ]] || fail "$peak"
