#!/usr/bin/env bash
# The command on a GPU: as on the CPU, and what there is only there.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/device_lib.sh"

need_device cuda:0
check_device cuda:0 2GiB

# The first loss is the CPU's but for rounding.
train cpu:0 --budget 64MiB --steps 1
awk -v a="$(losses_of "$output")" -v b="${expected%%,*}" \
  'BEGIN { d = a - b; exit !(d * d < 1e-4 * a * a) }' || fail "$expected here, on the CPU: $output"

# With the host's memory in less of the GPU's, to the same losses.
status=0
"$PLIMSOLL" plan "${model[@]}" --device cuda:0 --budget "$tiny" --offload 256MiB \
  >"$work/out" 2>"$work/err" || status=$?
[[ $status == 3 ]] || fail "a plan within $tiny bytes: $status"
together=$(sed -n 's/^smallest budget for this batch: //p' "$work/err")
[[ $together != "$smallest" ]] || fail "--offload saves nothing: $(cat "$work/err")"
train cuda:0 --budget "$together" --offload 256MiB --host-budget 512MiB --steps 6
[[ $(losses_of "$output") == "$expected" ]] || fail "other losses with --offload: $output"

# Budgets that not even the driver fits, and devices that are not there, are refused by name.
cd "$work"
refuses_command train 3 "cuda:0" --device cuda:0 --budget 8MiB --steps 1
refuses_command train 2 "cuda:99" --device cuda:99 --steps 1
