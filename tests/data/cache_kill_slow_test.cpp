#include <gtest/gtest.h>

#include "data/cache_support.h"

namespace plimsoll::data::testing {
namespace {

TEST(DiskCache, TwoHundredRunsKilledAtAnyMomentLoseAtMostASegmentPerThread) {
  kill_at_any_moment(200);
}

}  // namespace
}  // namespace plimsoll::data::testing
