#include <gtest/gtest.h>

#include "data/npy_mutation.h"

namespace plimsoll::data::testing {
namespace {

TEST(NpyFuzz, TwentyThousandDamagedFilesEndInDataErrorOrElements) {
  for (unsigned seed = 1; seed <= 20; ++seed) EXPECT_EQ(fuzz_npy(1'000, seed), "");
}

}  // namespace
}  // namespace plimsoll::data::testing
