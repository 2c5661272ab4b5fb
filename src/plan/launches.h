#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plan/fused_launches.h"
#include "plan/pointwise_groups.h"

namespace plimsoll::plan {

/// The launches of a plan that stand for several of its tasks each.
struct Launches {
  std::vector<FusedLaunch> fused;         ///< by rising task
  std::vector<PointwiseTasks> generated;  ///< by rising task
};

/// What an executor of the plan runs on the device that the plan was made for, as its description
/// says: on a CPU nothing.
Launches launches_of(const Plan& plan);

/// A launch of a plan for several tasks, and what it takes as predicted.
struct LaunchCost {
  std::size_t first = 0;  ///< task
  std::size_t count = 0;
  bool generated = false;  ///< by a kernel that is made for these tasks
  double bytes = 0;        ///< read and written: each array once
  double apart_bytes = 0;  ///< the same of the tasks one by one
  double seconds = 0;
  double apart_seconds = 0;
};
/// Of all of launches_of(plan), by rising task.
std::vector<LaunchCost> launch_costs(const Plan& plan);

}  // namespace plimsoll::plan
