#include <gtest/gtest.h>

#include "support/random_training.h"

namespace plimsoll {
namespace {

TEST(RandomConfigurationsSlow, FiveHundredRunWithinTheirBudgetOrAreRefused) {
  int ran = 0;
  for (std::uint64_t seed = 1000; seed < 1500; ++seed) ran += test::check_random_training(seed);
  EXPECT_GT(ran, 100);
  EXPECT_LT(ran, 450);
}

}  // namespace
}  // namespace plimsoll
