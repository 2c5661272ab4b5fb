#pragma once

#include "train/fit_log.h"
#include "train/run_checkpoint.h"
#include "train/step_runner.h"

namespace plimsoll::train {

/// The plan that a fit runs. It may change between two steps.
class FitPlan {
 public:
  FitPlan(Trainer::Impl& impl, TrainingMemory& memory, StepRunner& runner, const RunState& state,
          FitLog& log)
      : impl_(impl), memory_(memory), runner_(runner), state_(state), log_(log) {}

  const TrainingPlan& now() const { return memory_.plan(); }
  /// From the next step on; `why` is for the run log. Throws OutOfMemory, and the old one holds.
  void adopt(const TrainingPlan& plan, const char* why);
  /// Writes to the run log what its tasks were found to take.
  void log_op_times();
  /// The largest of all plans that were adopted, and of the first.
  Bytes planned_peak() const;

 private:
  Trainer::Impl& impl_;
  TrainingMemory& memory_;
  StepRunner& runner_;
  const RunState& state_;
  FitLog& log_;
  Bytes peak_before_ = 0;  ///< the largest of plans before this one
};

}  // namespace plimsoll::train
