#!/usr/bin/env bash
# Pages of runs of every kind in a real browser: no errors, the log's numbers, zoom, hover, keyboard,
# dark mode, a phone's width, print. Skips where there is no Chromium.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/report_runs.sh"

PYTHONPATH=$here python3 -c 'import browser, sys; sys.exit(0 if browser.find_chromium() else 1)' || {
  echo "skipped: there is no Chromium here; ./dev deps installs it where it can"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

make_runs "$work"
for run in finished refused killed resumed moved empty; do
  "$PLIMSOLL" report "$run.jsonl" --out "$run.html" >/dev/null || fail "report of $run exits $?"
done
"$PLIMSOLL" report finished.jsonl resumed.jsonl moved.jsonl --out several.html >/dev/null
"$PLIMSOLL" plan --model gpt2 --batch 16 --precision bf16 --device h200 --budget 5GiB --offload 16GiB \
  --html plan.html >/dev/null || fail "plan --html exits $?"
# A run on a GPU that was recorded (scripts/record_gpu_run.sh).
if recorded_gpu_run offload.jsonl; then
  "$PLIMSOLL" report offload.jsonl --out offload.html >/dev/null || fail "report of the GPU's run exits $?"
else
  echo "the page of a GPU's run is left out: tests/report/data/gpu_offload.jsonl.gz is not there"
  cp plan.html offload.html
fi
make_reports "$work"
python3 "$here/report_log.py" 100000 >long.jsonl
"$PLIMSOLL" report long.jsonl --out long.html >/dev/null
(($(stat -c %s long.html) <= 5000000)) || fail "a page of 100,000 steps has $(stat -c %s long.html) bytes"

PYTHONPATH=$here python3 "$here/report_browser.py" "$work"
