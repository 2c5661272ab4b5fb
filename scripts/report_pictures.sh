#!/usr/bin/env bash
# Makes the pictures of docs/pictures from a real run: scripts/report_pictures.sh [BUILD_FOLDER]
#
# A small network learns from JPEG files; its limit is lowered and raised meanwhile. The plan is GPT-2's on a
# GPU that need not be here. Needs Chromium (./dev deps) and a release build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

steps() { grep -c '"event":"step"' "$work/run.jsonl" 2>/dev/null || true; }
until_steps() { while (($(steps) < $1)); do sleep 0.05; done; }

"$build/examples/make_pictures" "$work/pictures" >/dev/null
"$build/bin/plimsoll" train --data "$work/pictures" --model resnet18 --size 32 --batch 32 --epochs 3 --budget 640MiB \
  --optimizer adam --checkpoints "$work/run" --quiet --log "$work/run.jsonl" &
run=$!
until_steps 40
"$build/bin/plimsoll" ctl "$run" --budget 420MiB
until_steps 90
"$build/bin/plimsoll" ctl "$run" --budget 560MiB
wait "$run"
"$build/bin/plimsoll" report "$work/run.jsonl" --out "$work/report.html"
"$build/bin/plimsoll" plan --model gpt2 --batch 16 --precision bf16 --device h200 --budget 5GiB --offload 16GiB \
  --html "$work/plan.html"

mkdir -p docs/pictures
PYTHONPATH=tests/tools python3 - "$work" <<'PYTHON'
import sys

from browser import Browser

with Browser(1100, 900) as browser:
    for page, section in (("report", "memory"), ("plan", "plan")):
        browser.open(f"file://{sys.argv[1]}/{page}.html")
        browser.evaluate("document.querySelector('.top').style.position = 'static'")
        browser.picture(f"docs/pictures/report-{section}.png", selector="#" + section)
PYTHON
ls -l docs/pictures
