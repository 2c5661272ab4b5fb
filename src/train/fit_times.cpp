#include "train/fit_times.h"

#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll::train {
namespace {

/// Of a step: less is not worth a new plan.
constexpr double kLeastGain = 0.03;

}  // namespace

void FitTimes::measure(const Device& device) {
  if (device.capabilities().host_memory) {
    correct(runner_.measure());
  } else {
    time_next_ = true;
  }
}

void FitTimes::timed() {
  time_next_ = false;
  correct(runner_.measured());
}

void FitTimes::correct(const StepRunner::Measured& found) {
  corrected_ = found.corrected;
  const double then = found.plan ? found.plan->phases.front().seconds() : found.corrected;
  const bool pays = then < found.corrected * (1 - kLeastGain);
  log_.write("measured", {{"step", state_.step},
                          {"predicted_seconds_per_step", found.predicted},
                          {"corrected_seconds_per_step", found.corrected},
                          {"measured_seconds_per_step", measured_},
                          {"replan_seconds_per_step", then},
                          {"replans", pays}});
  plan_.log_op_times();
  if (!pays) return;
  try {
    plan_.adopt(*found.plan, "op times were measured");
  } catch (const OutOfMemory&) {
    return;  // the host's memory is taken; the old plan holds
  }
  ++corrections_;
  corrected_ = then;
}

}  // namespace plimsoll::train
