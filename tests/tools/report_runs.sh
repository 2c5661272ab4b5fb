# Runs of every kind, for tests of reports: source it with $PLIMSOLL and lib.sh, then make_runs FOLDER.

# The exit code does not count: some of these runs are meant to fail.
quietly() { "$@" >/dev/null 2>&1 || true; }

make_runs() {
  local here=$1 pid
  mkdir -p "$here"
  quietly "$PLIMSOLL" train --epochs 3 --quiet --log "$here/finished.jsonl"
  quietly "$PLIMSOLL" train --model resnet18 --size 32 --classes 4 --batch 8 --steps 1 --quiet \
    --budget 100MiB --log "$here/refused.jsonl"

  "$PLIMSOLL" train --epochs 100000 --quiet --log "$here/killed.jsonl" >/dev/null 2>&1 &
  pid=$!
  wait_for 60 stepped "$here/killed.jsonl" 50
  kill -9 "$pid"
  wait "$pid" 2>/dev/null || true

  quietly "$PLIMSOLL" train --steps 60 --quiet --checkpoints "$here/resumed" --log "$here/resumed.jsonl"
  quietly "$PLIMSOLL" train --resume "$here/resumed" --steps 120 --quiet --log "$here/resumed.jsonl"

  "$PLIMSOLL" train --batch 256 --epochs 100000 --budget 64MiB --quiet --log "$here/moved.jsonl" >/dev/null 2>&1 &
  pid=$!
  wait_for 60 stepped "$here/moved.jsonl" 20
  quietly "$PLIMSOLL" ctl "$pid" --budget 40MiB
  wait_for 60 stepped "$here/moved.jsonl" $(($(grep -c '"event":"step"' "$here/moved.jsonl") + 10))
  quietly "$PLIMSOLL" ctl "$pid" --budget 1MiB
  quietly "$PLIMSOLL" ctl "$pid" --budget 56MiB
  wait_for 60 stepped "$here/moved.jsonl" $(($(grep -c '"event":"step"' "$here/moved.jsonl") + 10))
  (cd "$here" && kill -TERM "$pid")
  wait "$pid" 2>/dev/null || true
  : >"$here/empty.jsonl"
}

# recorded_gpu_run FILE: the log of the run that scripts/record_gpu_run.sh recorded; false if there is none.
recorded_gpu_run() {
  local packed
  packed=$(dirname "${BASH_SOURCE[0]}")/../report/data/gpu_offload.jsonl.gz
  [[ -e $packed ]] && gunzip -c "$packed" >"$1"
}

# What is drawn without a run around it: a replayed trace, one that exceeds its limit, an out-of-memory
# report, a leak. make_reports FOLDER
make_reports() {
  local traces
  traces=$(dirname "${BASH_SOURCE[0]}")/../../examples/traces
  "$PLIMSOLL" replay "$traces/step.csv" --passes 3 --json --html "$1/replayed.html" >"$1/replayed.json" 2>/dev/null ||
    fail "replay --html exits $?"
  ! "$PLIMSOLL" replay "$traces/step.csv" --limit 2GiB --html "$1/exceeded.html" >/dev/null 2>&1 || fail "4 GiB fit into 2"
  cat >"$1/oom.json" <<'JSON'
{"error":"out_of_memory","requested":2097152,"tag":"activations","label":"<script>alert(1)</script>","budget":"cpu:0/training",
 "limit":8388608,"used":7340032,"promised":0,"system_error":"","free_mapped":1048576,"largest_free":524288,"fragmentation":0.5,
 "holders":[{"budget":"cpu:0/training","tag":"parameters","label":"weights","bytes":4194304,"blocks":3},
  {"budget":"cpu:0/training/cache","tag":"cache","label":"cache","bytes":2097152,"blocks":8}],
 "remedies":[{"text":"raise the limit to 10 MiB","bytes":0},{"text":"leave out cache()","bytes":2097152}]}
JSON
  "$PLIMSOLL" report "$1/oom.json" --out "$1/oom.html" >/dev/null || fail "report of an out-of-memory report exits $?"
  cat >"$1/leak.jsonl" <<'JSON'
{"time":0,"event":"run","format":2,"plimsoll":"0.1.0","began":1700000000.0,"pid":1,"host":"nowhere"}
{"time":1,"event":"begin","device":"cpu:0","budget":8388608,"step":0,"epoch":0}
{"time":2,"event":"failed","step":24,"message":"memory leaks","checkpoint":"","leak":{"budget":"cpu:0","tag":"user","label":"kept losses","what":"step","index":24,"first":256,"bytes":1280,"history":[256,512,768,1024,1280]}}
JSON
  "$PLIMSOLL" report "$1/leak.jsonl" --out "$1/leak.html" >/dev/null || fail "report of a leak exits $?"
}
