#pragma once

#include <string>
#include <vector>

#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

/// What a plan runs on kernels that are many times slower than others for the same work, a line for
/// each kind: how many ops, which, and what would avoid it. Empty if there is nothing of the sort,
/// and on the CPU.
std::vector<std::string> slow_paths(const Plan& plan);

}  // namespace plimsoll::plan
