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
