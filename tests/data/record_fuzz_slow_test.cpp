#include <gtest/gtest.h>

#include "data/record_mutation.h"

namespace plimsoll::data::testing {
namespace {

TEST(RecordFuzz, TwentyThousandDamagedFilesOfEachFormatEndInDataErrorOrElements) {
  for (unsigned seed = 1; seed <= 20; ++seed) EXPECT_EQ(fuzz_records(1'000, seed), "");
}

}  // namespace
}  // namespace plimsoll::data::testing
