#include <gtest/gtest.h>

#include "support/random_training.h"

namespace plimsoll {
namespace {

/// Five hundred, in groups that show how far it is.
class RandomConfigurationsSlow : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomConfigurationsSlow, RunWithinTheirBudgetOrAreRefused) {
  int ran = 0;
  for (std::uint64_t i = 0; i < 50; ++i) ran += test::check_random_training(GetParam() + i);
  EXPECT_GT(ran, 5);
  EXPECT_LT(ran, 48);
}

TEST_P(RandomConfigurationsSlow, AreTheSameToTheBitWithPartsOfThemInTheHostsMemory) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    test::check_random_training(GetParam() + 5000 + i, MiB(i % 2 == 0 ? 1 : 16));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomConfigurationsSlow,
                         ::testing::Range<std::uint64_t>(1000, 1500, 50));

}  // namespace
}  // namespace plimsoll
