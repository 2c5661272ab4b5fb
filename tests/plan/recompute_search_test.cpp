#include <gtest/gtest.h>

#include "plan/recompute_search.h"
#include "support/pebble_game.h"
#include "support/recompute_check.h"

namespace plimsoll {
namespace {

TEST(PebbleGame, KnowsWhatAChainCosts) {
  // a -> b -> c -> d, then gradients that want c, b and a, each of one byte.
  test::PebbleGame game;
  game.bytes = std::vector<std::uint64_t>(8, 1);
  game.given = {0};
  game.wanted = {7};
  for (int i = 0; i < 3; ++i) {
    game.nodes.push_back({.inputs = {i}, .outputs = {i + 1}, .seconds = 1, .again_until = 7});
  }
  game.nodes.push_back({.inputs = {3, 2}, .outputs = {4}, .seconds = 1});
  game.nodes.push_back({.inputs = {4, 1}, .outputs = {5}, .seconds = 1});
  game.nodes.push_back({.inputs = {5, 0}, .outputs = {6}, .seconds = 1});
  game.nodes.push_back({.inputs = {6}, .outputs = {7}, .seconds = 1});
  EXPECT_EQ(game.least_seconds(5), 7.0);
  EXPECT_EQ(game.least_seconds(4), 8.0);  // b is computed again
  EXPECT_EQ(game.smallest_budget(), 4U);
  EXPECT_EQ(game.least_seconds(3), std::nullopt);
}

TEST(RecomputeSearch, SmallStepsTakeTheLeastTimeAtEveryBudget) {
  const test::Distance distance = test::distance_from_best(0, 16, true);
  EXPECT_EQ(distance.smallest, distance.steps);
  EXPECT_EQ(distance.within_5, distance.budgets);
  EXPECT_GT(distance.budgets, 50);
}

TEST(RecomputeSearch, LargeStepsAreSearchedByWhatIsNearTheBestForSmallOnes) {
  const test::Distance distance = test::distance_from_best(0, 16, false);
  EXPECT_GE(distance.smallest, distance.steps * 8 / 10);
  EXPECT_GE(distance.within_5, distance.budgets * 8 / 10);
  EXPECT_LE(distance.worst_smallest, 1.3);
}

}  // namespace
}  // namespace plimsoll
