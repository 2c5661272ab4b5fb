#include <plimsoll/data/every.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

#include "data/pipeline_support.h"

namespace plimsoll::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Every, GivesTheFirstOfEachN) {
  EXPECT_THAT(testing::run(every(Dataset::range(10), 3)), ElementsAre("(0)", "(3)", "(6)", "(9)"));
  EXPECT_EQ(every(Dataset::range(10), 3).cardinality(), 4);
  EXPECT_EQ(testing::run(every(Dataset::range(10), 1)), testing::run(Dataset::range(10)));
}

TEST(Every, GoesOnFromASavedPosition) {
  const Dataset dataset = every(Dataset::range(100), 7).batch(2);
  const Device device = testing::host();
  Pipeline first(dataset, device);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(first.next());
  Pipeline second(dataset, device);
  second.restore(first.save());
  EXPECT_EQ(testing::rest_of(second), testing::rest_of(first));
}

TEST(Every, IsPartOfTheSignature) {
  EXPECT_THAT(every(Dataset::range(10), 3).signature(), HasSubstr("every(3)"));
}

TEST(Every, ZeroIsRefused) {
  EXPECT_THAT([] { every(Dataset::range(10), 0); },
              ThrowsMessage<InvalidArgument>(HasSubstr("give 1 or more")));
}

}  // namespace
}  // namespace plimsoll::data
