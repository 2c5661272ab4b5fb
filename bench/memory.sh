#!/usr/bin/env bash
# The memory layer against its bars: bench/memory.sh BUILD [--gpu-only]
#
# The host's part always; where there is a GPU, CUDA pages beside PyTorch's caching allocator in
# the same run: three turns each, taken alternately, and their medians.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
shift
status=0
if [[ ${1:-} == --gpu-only ]]; then
  shift
else
  "$build/bench/bench_memory" "$@" || status=1
fi

if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "no GPU here: CUDA pages are not measured"
  exit "$status"
fi

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
mkdir "$results/compiled"
torch=yes
python3 -c 'import torch' 2>/dev/null || torch=no
[[ $torch == yes ]] || echo "PyTorch is not installed: no figure to compare with"
for turn in 1 2 3; do
  if [[ $torch == yes ]]; then
    python3 bench/torch_alloc.py "$results/compiled" >"$results/torch.$turn" 2>"$results/errors" ||
      tail -n 20 "$results/errors"
  fi
  "$build/bench/bench_memory_cuda" >"$results/ours.$turn" || status=1
done
sed '$d' "$results/ours.3"

python3 - "$results" <<'PYTHON' || status=1
import glob
import json
import statistics
import sys


def runs(name):
    found = []
    for path in glob.glob(f"{sys.argv[1]}/{name}.*"):
        try:
            found.append(json.loads(open(path).read().splitlines()[-1]))
        except (IndexError, ValueError):
            pass
    return found


def median(results, key):
    return statistics.median(r[key] for r in results) if results else None


ours, torch = runs("ours"), runs("torch")
peer = median(torch, "ns_per_pair")
print(f"\n{'allocator, ns a pair':<28}{'Plimsoll':>10}{'PyTorch':>10}{'ratio':>8}   at most 0.200")
holds = True
for title, key in (("on a stream", "ns_per_pair"), ("on the host's stream", "ns_per_pair_host")):
    mine = median(ours, key)
    if peer is None:
        print(f"{title:<28}{mine:>10.0f}{'-':>10}{'-':>8}")
        continue
    holds = holds and mine <= peer / 5
    verdict = "PASS" if mine <= peer / 5 else "FAIL"
    print(f"{title:<28}{mine:>10.0f}{peer:>10.0f}{mine / peer:>8.3f}   {verdict}")
print(json.dumps({"plimsoll": ours, "torch": torch}))
sys.exit(not holds)
PYTHON
exit "$status"
