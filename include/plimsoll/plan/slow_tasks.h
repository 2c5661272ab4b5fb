#pragma once

#include <string>
#include <vector>

#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

/// Tasks of a plan that run slowly for one reason.
struct SlowTasks {
  std::string op;
  int count = 0;
  double seconds = 0;  ///< predicted, together
  std::string reason;
  std::string remedy;

  /// "attention: 24 tasks, 210 ms predicted: plain kernels: there are no others in f32; train in
  /// bf16"
  std::string to_string() const;
};

/// Those that take at least 2% of the predicted time together, the slowest first. Empty on a CPU.
std::vector<SlowTasks> slow_tasks(const Plan& plan);

}  // namespace plimsoll::plan
