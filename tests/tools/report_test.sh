#!/usr/bin/env bash
# `plimsoll report`, `watch`, `train --metrics-port` and `plan --html`, without a browser: what they write
# and say, exports read back, refusals of the live page.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/report_runs.sh"
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

make_runs "$work"

# Each kind of run is named for what it is.
for kind in finished:finished refused:refused killed:killed resumed:finished moved:stopped empty:empty; do
  out=$("$PLIMSOLL" report "${kind%:*}.jsonl" --out page.html) || fail "report of ${kind%:*} exits $?"
  [[ $out == *"${kind%:*}.jsonl: ${kind#*:};"*"report: page.html"* ]] || fail "report of ${kind%:*}: $out"
  grep -q '<script' page.html || fail "no page of ${kind%:*}"
done
[[ $("$PLIMSOLL" report finished.jsonl) == *"kept "*" of 8 MiB; planned peak "*"the same to the byte"* ]] || fail "no verdict"
[[ -s report.html ]] || fail "report.html is not the default"

# A folder of checkpoints leads to its log; where that has gone, to what the checkpoint knows.
"$PLIMSOLL" report resumed --out folder.html | grep -q "resumed: finished" || fail "a folder is not its run"
grep -q '"parts":2' folder.html || fail "the run was resumed once"
mv resumed.jsonl kept.jsonl
"$PLIMSOLL" report resumed --out folder.html | grep -q "120 steps" || fail "a checkpoint has its losses"
mv kept.jsonl resumed.jsonl

# Mistakes are named.
refuses_command report 2 "no such file" nothing.jsonl
mkdir bare
refuses_command report 2 "neither a run log nor checkpoints" bare
refuses_command report 2 "cannot be written" finished.jsonl --out no/such/folder/page.html
refuses_command report 2 "no plan" refused.jsonl --memory-viz plan.pickle
refuses_command watch 2 "no such file" nothing.jsonl

# A damaged log: what is whole is shown, the rest is named.
sed '20s/.*/{"time":/' finished.jsonl >damaged.jsonl
"$PLIMSOLL" report damaged.jsonl --out damaged.html | grep -q "1 line could not be read, the first at line 20" ||
  fail "the damage is not named"

# Exports, read back by others' rules.
"$PLIMSOLL" report finished.jsonl --tensorboard tb --perfetto run.pftrace --memory-viz run.pickle --csv tables \
  --json run.json >/dev/null || fail "exports exit $?"
"$PLIMSOLL" report finished.jsonl --csv only >/dev/null
python=python3
[[ ! -x $here/../../.venv-tf/bin/python ]] || python=$here/../../.venv-tf/bin/python
"$python" "$here/report_exports.py" "$work" finished.jsonl || fail "exports do not read back"

# A plan as a page.
"$PLIMSOLL" plan --model lenet --batch 32 --html plan.html >/dev/null || fail "plan --html exits $?"
grep -q '"state":"planned"' plan.html || fail "no plan in the page"

# Without a terminal watching is lines, and ends with the run.
"$PLIMSOLL" watch finished.jsonl >watched || fail "watch exits $?"
grep -q '^finished  step 135/135' watched || fail "watch says: $(cat watched)"
TERM=xterm COLUMNS=60 script -qec "$(printf '%q ' "$PLIMSOLL" watch killed.jsonl)" typed </dev/null >/dev/null || true
grep -aq 'loss ' typed || fail "watch draws: $(cat typed)"

# The live page and the metrics of a run that goes on.
"$PLIMSOLL" train --epochs 100000 --log live.jsonl --metrics-port 0 >/dev/null 2>train.err &
pids+=($!)
run=$!
wait_for 60 stepped live.jsonl 5
"$PLIMSOLL" watch "$run" --http >live.out 2>&1 &
pids+=($!)
watcher=$!
wait_for 60 grep -q 'live page: ' live.out
python3 "$here/report_live.py" "$(sed -n 's/^live page: //p' live.out)" "$(sed -n 's/^metrics: //p' train.err)" ||
  fail "the live page or the metrics"
kill -TERM "$run"
wait "$run" || true
wait_for 60 grep -q '^stopped' live.out
wait "$watcher" || fail "watch exits $?"
echo "report: done"
