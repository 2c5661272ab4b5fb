// Pipelines that functions of the library run are ended by the scope around the call.
#include <plimsoll/data/cancel_scope.h>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

TEST(CancelScope, EndsPipelinesThatWereMadeWithinIt) {
  const Device device = host();
  Pipeline before(Dataset::range(10), device);
  CancelScope scope;
  Pipeline within(Dataset::range(10), device);
  ASSERT_TRUE(within.next());
  scope.cancel();
  EXPECT_THROW(within.next(), Error);
  EXPECT_TRUE(before.next()) << "made before the scope";
  Pipeline late(Dataset::range(10), device);
  EXPECT_THROW(late.next(), Error) << "made after it was cancelled";
}

TEST(CancelScope, CountsForItsThreadAndUntilItsEnd) {
  const Device device = host();
  {
    CancelScope outer;
    {
      CancelScope inner;
      inner.cancel();
    }
    Pipeline pipeline(Dataset::range(10), device);
    EXPECT_TRUE(pipeline.next()) << "only the inner one was cancelled";
  }
  Pipeline after(Dataset::range(10), device);
  EXPECT_TRUE(after.next());
}

}  // namespace
}  // namespace plimsoll::data::testing
