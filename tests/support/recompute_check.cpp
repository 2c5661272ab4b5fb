#include "support/recompute_check.h"

#include <gtest/gtest.h>

#include "plan/recompute_search.h"
#include "support/random_step.h"

namespace plimsoll::test {

Distance distance_from_best(std::uint64_t first, int count, bool completely) {
  Distance distance;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const plan::StepModel model = random_step(seed);
    const PebbleGame game = game_of(model);
    plan::RecomputeSearch search(model, {}, completely);
    const Bytes least = game.smallest_budget();
    const Bytes found = search.smallest().peak;
    EXPECT_GE(found, least);
    ++distance.steps;
    distance.smallest += found == least;
    distance.worst_smallest =
        std::max(distance.worst_smallest, static_cast<double>(found) / static_cast<double>(least));
    // All sizes are multiples of 256: nothing changes in between.
    for (Bytes budget = least; budget <= search.keep_all().peak; budget += 256) {
      const double best = *game.least_seconds(budget);
      const plan::Choice choice = search.solve(budget);
      ++distance.budgets;
      if (choice.peak > budget) continue;
      EXPECT_GE(choice.seconds, best * (1 - 1e-9)) << "within " << budget;
      distance.within_5 += choice.seconds <= best * 1.05;
    }
  }
  return distance;
}

}  // namespace plimsoll::test
