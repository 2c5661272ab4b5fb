#pragma once

#include <cstdint>

#include "plan/placement_problem.h"

namespace plimsoll::plan {

struct Improvement {
  Solution solution;
  Units lower_bound = 0;  ///< what the search has proven
};

/// Searches for a lower placement than `from`, until the height is at most `enough` (and no more is
/// asked for), or is proven least, or a number of rounds has brought nothing, or time is up. Rounds
/// alternate between ejection and complete search, with a growing number of steps. With
/// `until_deadline` there is no limit on the rounds.
Improvement improve(const Problem& problem, Solution from, Units enough, bool until_deadline,
                    std::uint64_t seed, Deadline& deadline);

}  // namespace plimsoll::plan
