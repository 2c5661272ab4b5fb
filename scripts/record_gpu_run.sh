#!/usr/bin/env bash
# Records a run on a GPU that offloads and whose limit moves, for tests of reports on machines without one:
# scripts/record_gpu_run.sh [BUILD_FOLDER [FILE]]; default: build/release tests/report/data/gpu_offload.jsonl.gz
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
plimsoll=$(realpath "${1:-build/release}/bin/plimsoll")
out=${2:-tests/report/data/gpu_offload.jsonl.gz}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

model=(--model gpt2_tiny --batch 64 --optimizer adam --no-split --device cuda:0)
# The smallest budgets with and without the host's memory: the run moves between them.
smallest() { # ARGUMENT...
  "$plimsoll" plan "${model[@]}" --budget 1MiB "$@" 2>&1 >/dev/null |
    sed -n 's/^smallest budget for this batch: //p' || true # the plan is refused, which is what is asked for
}
low=$(smallest --offload 2GiB)
high=$(smallest)
echo "smallest budget: $low with offload, $high without"
[[ -n $low && -n $high ]] || { echo "no budgets to run with; is there a GPU?" >&2; exit 1; }
# Where recomputing reaches the same, more memory still changes the plan.
[[ $low != "$high" ]] || high=$((${low%MiB} + 128))MiB

curve=()
! "$plimsoll" train --help | grep -q -- --curve || curve=(--curve)
"$plimsoll" train "${model[@]}" --budget "$low" --offload 2GiB --host-budget 3GiB --steps 600 --quiet "${curve[@]}" \
  --log "$work/run.jsonl" &
run=$!
steps() { grep -c '"event":"step"' "$work/run.jsonl" 2>/dev/null || true; }
until_steps() { while kill -0 "$run" 2>/dev/null && (($(steps) < $1)); do sleep 0.02; done; }
until_steps 120
"$plimsoll" ctl "$run" --budget "$high" || true
until_steps 300
"$plimsoll" ctl "$run" --budget "$low" || true
until_steps 450
"$plimsoll" ctl "$run" --budget 1MiB || true # refused, and said so in the log
wait "$run"
"$plimsoll" report "$work/run.jsonl" --out "$work/page.html"
mkdir -p "$(dirname "$out")"
# Which machine it was is nobody's business.
sed -E 's/"host":"[^"]*"/"host":"gpu"/; s#"command":\["[^"]*"#"command":["plimsoll"#' "$work/run.jsonl" | gzip -9n >"$out"
ls -l "$out"
