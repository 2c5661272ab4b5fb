#include <gtest/gtest.h>

#include <plimsoll/data/batch_sizes.h>
#include <plimsoll/data/dataset.h>

namespace plimsoll::data {
namespace {

TEST(BatchSizes, AreToldByEveryStageThatMakesBatches) {
  const Dataset ten = Dataset::range(0, 10);
  EXPECT_EQ(batch_sizes(ten.batch(4)).full, 4);
  EXPECT_EQ(batch_sizes(ten.batch(4)).remainder, 2);
  EXPECT_EQ(batch_sizes(ten.padded_batch(4)).full, 4);
  EXPECT_EQ(batch_sizes(ten.padded_batch(4)).remainder, 2);
  EXPECT_EQ(batch_sizes(ten.padded_batch(4, {.drop_remainder = true})).remainder, 0);
  EXPECT_EQ(batch_sizes(ten.padded_batch(5).prefetch()).full, 5);
  EXPECT_EQ(batch_sizes(ten.padded_batch(5).prefetch()).remainder, 0);
}

TEST(BatchSizes, AreUnknownWithoutOne) { EXPECT_EQ(batch_sizes(Dataset::range(0, 10)).full, 0); }

}  // namespace
}  // namespace plimsoll::data
