#!/usr/bin/env bash
# Killed at 30 random moments, a training resumes to the same losses and weights.
set -euo pipefail
source "$(dirname "$0")/kill_lib.sh"
check_kills 30
