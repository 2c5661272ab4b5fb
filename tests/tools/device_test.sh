#!/usr/bin/env bash
# The command on a device, from its list to a training that is resumed: here the CPU.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/device_lib.sh"

check_device cpu:0 64MiB
