#!/usr/bin/env bash
# Little address space (ulimit -v): the command runs, or says why it does not. It never hangs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# within KIB ARGUMENT...: runs the command in that much address space; leaves `out`, `err`, `status`.
within() {
  status=0
  (ulimit -v "$1" && shift && exec timeout 300 "$PLIMSOLL" "$@") >out 2>err || status=$?
}

for kib in 150000 200000 400000 1000000; do
  within "$kib" --version
  [[ $status == 2 ]] || fail "--version within $kib KiB exits $status: $(cat err)"
  grep -q "ulimit -v" err || fail "--version within $kib KiB does not say why: $(cat err)"
done

for kib in 1048576 2000000 20000000; do
  within "$kib" --version
  [[ $status == 0 ]] || fail "--version within $kib KiB exits $status: $(cat err)"
done

# The same of memory for data (ulimit -d).
for kib in 20000 200000 400000; do
  status=0
  (ulimit -d "$kib" && exec timeout 300 "$PLIMSOLL" --version) >out 2>err || status=$?
  [[ $status == 2 ]] && grep -q "ulimit -d" err || fail "--version with ulimit -d $kib exits $status: $(cat err)"
done
# And of the stack (ulimit -s).
status=0
(ulimit -s 64 && exec timeout 300 "$PLIMSOLL" train --steps 3 --quiet) >out 2>err || status=$?
[[ $status == 2 ]] && grep -q "ulimit -s" err || fail "train with ulimit -s 64 exits $status: $(cat err)"
status=0
(ulimit -s 512 && exec timeout 300 "$PLIMSOLL" train --steps 3 --quiet --threads 4) >out 2>err || status=$?
[[ $status == 0 ]] || fail "train with ulimit -s 512 exits $status: $(cat err)"

status=0
(ulimit -d 1000000 && exec timeout 300 "$PLIMSOLL" train --steps 3 --quiet --threads 1) >out 2>err || status=$?
[[ $status == 0 ]] || fail "train with ulimit -d 1000000 exits $status: $(cat err)"

# It trains, or is refused in words; 124 would be the time that is up.
for kib in 1048576 4194304; do
  within "$kib" train --steps 3 --quiet --threads 1
  [[ $status == 0 ]] || fail "train within $kib KiB exits $status: $(cat err)"
done
within 4194304 train --model resnet18 --size 32 --classes 4 --batch 8 --steps 2 --quiet --threads 2 \
  --budget 256MiB
[[ $status == 0 ]] || fail "resnet18 within 4 GiB exits $status: $(cat err)"
within 1048576 train --model resnet18 --size 64 --classes 4 --batch 64 --steps 1 --quiet --threads 1
[[ $status == 0 || $status == 2 || $status == 3 ]] ||
  fail "resnet18 within 1 GiB exits $status: $(cat err)"
