#include "train/fit_plan.h"

#include <algorithm>

namespace plimsoll::train {

void FitPlan::adopt(const TrainingPlan& plan, const char* why) {
  peak_before_ = planned_peak();
  impl_.end_stepping();  // a callback may have made steps
  runner_.use(plan);
  log_.log().write("replan", {{"why", std::string(why)},
                              {"step", state_.step},
                              {"planned_peak", plan.planned_peak()},
                              {"charged", plan.charged},
                              {"seconds_per_step", plan.phases.front().seconds()}});
  log_.plan(now(), why, state_.step);
  log_.sample();
}

void FitPlan::log_op_times() {
  log_.op_times(now(), impl_.times.of(*now().phases.front().steps.front()->graph));
}

Bytes FitPlan::planned_peak() const { return std::max(peak_before_, now().planned_peak()); }

}  // namespace plimsoll::train
