#pragma once

#include <vector>

#include "plan/schedule.h"

namespace plimsoll::plan {

// What launches for several tasks are worth while a plan is sought, when nothing has its place yet:
// neighbours share launches wherever their ops allow it. launches_of() has those of a finished
// plan.

/// Fills in how works may share launches, by the model's device.
void find_joinings(StepModel& model);

/// Sets what the tasks of a schedule take, and it in all without waiting for copies. `stored` has
/// by root the instance that is copied to the host, or -1. A function of the schedule alone.
void share_launches(const StepModel& model, const std::vector<int>& stored, Schedule& schedule);

}  // namespace plimsoll::plan
