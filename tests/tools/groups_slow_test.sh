#!/usr/bin/env bash
# Control groups of 150 MiB to 1 GiB with nothing stated: no run is killed. The groups are made below
# the one that the test runs in, and are gone afterwards; where that is not allowed, the test says so
# and is skipped (recorded groups are in tests/base/system_test.cpp).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

skip() {
  echo "skipped: $*"
  exit 0
}

work=$(mktemp -d)
group=
clean_up() {
  if [[ -n $group ]]; then rmdir "$group" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap clean_up EXIT
cd "$work"

mount=$(awk '$9 == "cgroup" && $NF ~ /(^|,)memory(,|$)/ { print $5 }
             $9 != "cgroup" && / - cgroup / && $NF ~ /(^|,)memory(,|$)/ { print $5 }' \
  /proc/self/mountinfo | head -n 1)
if [[ -n $mount ]]; then
  parent=$mount$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*://p' /proc/self/cgroup | head -n 1)
  limit_file=memory.limit_in_bytes
else
  mount=$(awk '/ - cgroup2 / { print $5 }' /proc/self/mountinfo | head -n 1)
  [[ -n $mount ]] || skip "no control groups are mounted"
  parent=$mount$(sed -n 's/^0:://p' /proc/self/cgroup)
  limit_file=memory.max
  grep -qw memory "$parent/cgroup.subtree_control" 2>/dev/null ||
    skip "$parent does not let its children limit memory"
fi
group=$parent/plimsoll-test-$$
mkdir "$group" 2>/dev/null || { group=; skip "no group can be made in $parent"; }
[[ -w $group/$limit_file && -w $group/cgroup.procs ]] || skip "$group cannot be written"
echo $((1 << 30)) 2>/dev/null >"$group/$limit_file" || skip "no limit can be set in $group"

# train_within MIB ARGUMENT...: exits as the command does in a group of that size.
train_within() {
  local mib=$1
  shift
  echo $((mib << 20)) >"$group/$limit_file"
  bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" \
    timeout 300 "$PLIMSOLL" train --quiet "$@" >out 2>err
}

ran=0
for mib in 150 175 200 256 300 384 512 640 768 1024; do
  # A batch that a plan for all of the group just fits, as recomputing trades time for memory.
  status=0
  train_within "$mib" --model resnet18 --size 64 --classes 10 --batch "$((mib / 4))" --steps 1 || status=$?
  [[ $status == 0 || $status == 3 ]] ||
    fail "a run in a group of $mib MiB exits $status: $(cat err)"
  [[ $status == 3 ]] || ran=$((ran + 1))
  status=0
  train_within "$mib" --steps 20 || status=$?
  [[ $status == 0 ]] || fail "the default run in a group of $mib MiB exits $status: $(cat err)"
done
((ran >= 5)) || fail "only $ran of 10 runs fitted their group"
echo "$ran of 10 plans fitted their group, and no run was killed"
