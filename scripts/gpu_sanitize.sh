#!/usr/bin/env bash
# The fast tests that need a GPU, under compute-sanitizer:
#
#   scripts/gpu_sanitize.sh BUILD [TOOL...]        TOOL: memcheck, racecheck, initcheck
#
# A program's tests are dealt out to several processes, for a sanitizer uses one core. Prints a line
# for every tool and program; exits with 1 where a sanitizer reports something or a test fails. Logs
# are under BUILD/sanitize. PLIMSOLL_SANITIZE_LIMIT: seconds a process may take (1200);
# PLIMSOLL_SANITIZE_AT_ONCE: how many run at a time (as many as there are cores).
set -euo pipefail
build=${1:?usage: scripts/gpu_sanitize.sh BUILD [TOOL...]}
shift
tools=("$@")
((${#tools[@]})) || tools=(memcheck racecheck initcheck)
sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer) ||
  { echo "gpu_sanitize: there is no compute-sanitizer" >&2; exit 2; }
nvidia-smi -L >/dev/null 2>&1 || { echo "gpu_sanitize: there is no GPU" >&2; exit 2; }

limit=${PLIMSOLL_SANITIZE_LIMIT:-1200}
at_once=${PLIMSOLL_SANITIZE_AT_ONCE:-$(nproc)}
logs=$build/sanitize
mkdir -p "$logs"

# Program, number of processes, tests. Left out are those that look at the driver's figures or the
# clock, which a sanitizer changes, those that take all of the device's memory, which others need, or
# move pages, which it does not follow, and the long ones, whose kernels are those of the others.
programs=(
  "test_backend_cuda 1 -*MeasuresTheContext*:*AStreamWaits*:*ATimer*"
  "test_memory_cuda 1 -*LeavesNothingBehind*:*TakesNoMemory*:*ReturnsMemoryAtOnce*:*AMapThatFails*:*ArenaOnGpu*:*ArenaFaults*:*StreamsOnGpu*"
  "test_data_cuda 1 -*EverythingGoesBack*"
  "test_plan_cuda 3 *"
  "test_ops_cuda 8 *"
  "test_train_cuda 4 *ALimitIsLowered*:*TwentySteps/mlp_*:*TwentySteps/lenet_bf16:*TwentySteps/unet_bf16:*TwentySteps/vit_bf16:*TwentySteps/gpt2_f16"
)
# The libraries' kernels take racecheck hours, and a filter of kernels makes it fail. So it gets the
# ops with kernels of our own that share memory. What it says of cuDNN's is told apart.
racecheck=(
  "test_ops_cuda 8 *ScoresAreFarBelowZero*:*IsAsOnTheCpu/*norm*:*IsAsOnTheCpu/*softmax*:*IsAsOnTheCpu/sum*:*IsAsOnTheCpu/mean*:*IsAsOnTheCpu/prod*:*IsAsOnTheCpu/*max*:*IsAsOnTheCpu/*min*:*IsAsOnTheCpu/*entropy*:*IsAsOnTheCpu/embedding*:*IsAsOnTheCpu/gather*:*IsAsOnTheCpu/scatter*:*IsAsOnTheCpu/*transpose:*IsAsOnTheCpu/sgd*:*IsAsOnTheCpu/adam*:-*conv2d*:*linear*:*attention*"
)

# One process; what it exits with is found in a file beside its log.
sanitize() {  # log, shards, shard, program, filter, options...
  local log=$1 shards=$2 shard=$3 program=$4 filter=$5 result=0
  shift 5
  rm -f "$log.exit"
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard timeout "$limit" \
    "$sanitizer" "$@" "$build/tests/$program" --gtest_filter="$filter" >"$log" 2>&1 || result=$?
  echo "$result" >"$log.exit"
}

status=0
all=("${programs[@]}")
for tool in "${tools[@]}"; do
  programs=("${all[@]}")
  options=(--tool "$tool" --error-exitcode 99)
  case $tool in
    # Tests of the driver's refusals would be reported as such.
    memcheck) options+=(--report-api-errors no) ;;
    racecheck)
      programs=("${racecheck[@]}")
      options+=(--print-limit 0)
      ;;
  esac
  running=()
  for line in "${programs[@]}"; do
    read -r program shards filter <<<"$line"
    for ((shard = 0; shard < shards; ++shard)); do
      while (($(jobs -rp | wc -l) >= at_once)); do wait -n || true; done
      sanitize "$logs/$tool.$program.$shard.log" "$shards" "$shard" "$program" "$filter" "${options[@]}" &
      running+=("$program $shard")
    done
  done
  wait
  for line in "${running[@]}"; do
    read -r program shard <<<"$line"
    log=$logs/$tool.$program.$shard.log
    result=$(cat "$log.exit" || echo 1)
    case $result in
      0) said=clean ;;
      99)
        if [[ $tool == racecheck ]] && ! grep -q 'access at .*plimsoll' "$log"; then
          result=0
          said="clean but for kernels of libraries: $log"
        else
          said="reports: $(grep -c '^========= [A-Z].*' "$log") lines in $log"
        fi
        ;;
      124) said="not done after $limit s" ;;
      *) said="exit $result: $log" ;;
    esac
    ((result == 0)) || status=1
    echo "$tool $program $shard: $(grep -c '^\[       OK' "$log") tests, $said"
  done
done
exit "$status"
