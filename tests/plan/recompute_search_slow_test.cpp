#include <gtest/gtest.h>

#include "support/recompute_check.h"

namespace plimsoll {
namespace {

TEST(RecomputeSearchSlow, SmallStepsTakeTheLeastTimeAtEveryBudget) {
  const test::Distance distance = test::distance_from_best(1000, 400, true);
  EXPECT_EQ(distance.smallest, distance.steps);
  EXPECT_EQ(distance.within_5, distance.budgets);
}

}  // namespace
}  // namespace plimsoll
