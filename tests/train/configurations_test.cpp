#include <gtest/gtest.h>

#include "support/random_training.h"

namespace plimsoll {
namespace {

TEST(RandomConfigurations, RunWithinTheirBudgetOrAreRefusedAndNameOneThatRuns) {
  int ran = 0;
  constexpr int kCount = 24;
  for (std::uint64_t seed = 0; seed < kCount; ++seed) ran += test::check_random_training(seed);
  EXPECT_GT(ran, 0);
  EXPECT_LT(ran, kCount) << "no budget was too small: nothing was refused";
}

}  // namespace
}  // namespace plimsoll
