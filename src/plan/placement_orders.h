#pragma once

#include <cstdint>
#include <vector>

#include "plan/placement_problem.h"
#include "plan/placement_strip.h"

namespace plimsoll::plan {

/// Places the items one after another, each at an offset that is free.
Solution place_in_order(const Problem& problem, const std::vector<std::int32_t>& order, Fit fit,
                        Strip& strip);

/// The best of up to `orders` orders, the most promising first; ends early at a height of `enough`.
Solution place_by_heuristics(const Problem& problem, Units enough, int orders);

}  // namespace plimsoll::plan
