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

TEST(RandomConfigurations, AreTheSameToTheBitWithPartsOfThemInTheHostsMemory) {
  for (std::uint64_t seed = 100; seed < 112; ++seed) test::check_random_training(seed, MiB(16));
}

}  // namespace
}  // namespace plimsoll
