#!/usr/bin/env bash
# Trainings that share the machine take turns on its cores and do not wait for each other's threads:
# two at once take about twice as long as one, with nothing set. Threads that spun while they waited
# made it twenty times as long.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

unset OMP_WAIT_POLICY OMP_NUM_THREADS GOMP_SPINCOUNT
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

train() { "$PLIMSOLL" train --epochs 2 --quiet >"$work/out.$1"; }
now() { echo $(($(date +%s%N) / 1000)); }
least() { (($1 < $2)) && echo "$1" || echo "$2"; }

one=$((1 << 60)) two=$((1 << 60))
for _ in 1 2 3 4 5; do
  at=$(now)
  train 0
  one=$(least "$one" $(($(now) - at)))
  at=$(now)
  train 1 &
  other=$!
  train 2
  wait "$other"
  two=$(least "$two" $(($(now) - at)))
done
echo "one training: $((one / 1000)) ms; two at once: $((two / 1000)) ms"
((2 * two <= 5 * one)) || fail "two trainings at once took $two us, one alone $one us"
