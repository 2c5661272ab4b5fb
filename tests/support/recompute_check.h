#pragma once

#include <cstdint>

namespace plimsoll::test {

/// How far a search for what to compute again is from the best there is.
struct Distance {
  int budgets = 0;   ///< looked at: every one from the smallest to that of keeping everything
  int within_5 = 0;  ///< at which the time is within 5% of the least
  int smallest = 0;  ///< steps whose smallest budget is the smallest there is
  int steps = 0;
  double worst_smallest = 1;  ///< largest ratio of a smallest budget to the smallest there is
};

/// Plays `count` random steps from `seed` on; with `completely`, as small steps are searched, else
/// as large ones are. Fails the test where a choice is not what it says it is.
Distance distance_from_best(std::uint64_t seed, int count, bool completely);

}  // namespace plimsoll::test
