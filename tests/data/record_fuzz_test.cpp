#include <gtest/gtest.h>

#include "data/record_mutation.h"

namespace plimsoll::data::testing {
namespace {

TEST(RecordFuzz, DamagedFilesEndInDataErrorOrElements) { EXPECT_EQ(fuzz_records(200, 1), ""); }

}  // namespace
}  // namespace plimsoll::data::testing
