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

# What has no run around it, drawn the same way; the viewer's file of a replayed trace has its blocks.
make_reports "$work"
for page in replayed exceeded oom leak; do grep -q '<script' "$page.html" || fail "no page of $page"; done
grep -q '"state":"replayed"' exceeded.html && grep -q '"out_of_memory":{"requested"' exceeded.html || fail "no refusal in the replayed trace"
[[ $("$PLIMSOLL" report oom.json --out oom.html) == *"oom.json: reported; 2 MiB was refused by cpu:0/training"* ]] ||
  fail "an out-of-memory report is not named"
"$PLIMSOLL" replay "$here/../../examples/traces/step.csv" --memory-viz trace.pickle >/dev/null 2>&1 || fail "replay --memory-viz exits $?"
python3 - trace.pickle "$here/../../examples/traces/step.csv" <<'PYTHON' || fail "the viewer's file of a trace"
import csv, pickle, sys
events = pickle.load(open(sys.argv[1], "rb"))["device_traces"][0]
sizes = sorted(int(row["size"]) for row in csv.DictReader(open(sys.argv[2])))
assert sorted(event["size"] for event in events if event["action"] == "alloc") == sizes
live = most = 0
for event in events:
    live += {"alloc": event["size"], "free_completed": -event["size"]}.get(event["action"], 0)
    most = max(most, live)
assert live == 0 and most > 3.8 * 2**30, (live, most)
PYTHON

# A run's page has the step time against the budget.
grep -q '"event":"curve"' finished.jsonl || fail "no curve in the log of a small run"
"$PLIMSOLL" train --steps 2 --quiet --curve --log curve.jsonl >/dev/null
grep -q '"event":"curve"' curve.jsonl || fail "--curve writes none"

# A run on a GPU that offloads, as it was recorded.
if recorded_gpu_run gpu.jsonl; then
  [[ $("$PLIMSOLL" report gpu.jsonl --out gpu.html) == *"gpu.jsonl: finished; kept "* ]] || fail "the GPU's run"
  grep -q '"name":"cuda:0"' gpu.html && grep -q '"tag":"staging"\|"pinned"' gpu.html || fail "no offload in the GPU's run"
  "$PLIMSOLL" report gpu.jsonl --memory-viz gpu.pickle --perfetto gpu.pftrace --csv gpu.csv >/dev/null || fail "exports of the GPU's run"
else
  echo "the recorded run of a GPU is left out: tests/report/data/gpu_offload.jsonl.gz is not there"
fi

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
