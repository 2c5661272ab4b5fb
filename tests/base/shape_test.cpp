#include <plimsoll/base/shape.h>

#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(ShapeTest, PrintsItsExtents) {
  EXPECT_EQ((Shape{375, 500, 3}).to_string(), "[375,500,3]");
  EXPECT_EQ(Shape().to_string(), "[]");
  EXPECT_EQ((Shape{0}).to_string(), "[0]");
}

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ((Shape{375, 500, 3}).elements(), 562500);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ((Shape{4, 0, 3}).elements(), 0);
  EXPECT_EQ((Shape{kHuge}).elements(), kHuge);
}

TEST(ShapeTest, RefusesMoreElementsThanCanBeCounted) {
  EXPECT_THAT(
      [] {
        return (Shape{kHuge, 2}).elements();
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("[9223372036854775807,2]")));
  EXPECT_THROW((Shape{1LL << 32, 1LL << 32}).elements(), InvalidArgument);
  EXPECT_EQ((Shape{kHuge, kHuge, 0}).elements(), 0);
}

TEST(ShapeTest, RefusesNegativeExtentsAndTooManyDimensions) {
  EXPECT_THAT(([] {
                return Shape{2, -1};
              }),
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("-1"), HasSubstr("[2,-1]"))));
  EXPECT_NO_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), InvalidArgument);
}

TEST(ShapeTest, CountsNegativeDimensionsFromTheEnd) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.dim(-1), 5);
  EXPECT_EQ(shape.dim(0), 2);
  EXPECT_EQ(shape.index(-3), 0);
  EXPECT_THROW(shape.dim(3), InvalidArgument);
  EXPECT_THROW(shape.dim(-4), InvalidArgument);
  EXPECT_THROW(Shape().dim(0), InvalidArgument);
}

TEST(ShapeTest, ContiguousStridesAreRowMajor) {
  const auto strides = (Shape{2, 3, 5}).contiguous_strides();
  EXPECT_THAT(std::vector(strides.begin(), strides.begin() + 3), ElementsAre(15, 5, 1));
  const auto empty = (Shape{kHuge, kHuge, 0, 4}).contiguous_strides();
  EXPECT_EQ(empty[3], 1);
  EXPECT_EQ(empty[2], 4);
}

TEST(ShapeTest, EditsMakeNewShapes) {
  const Shape shape{2, 3};
  EXPECT_EQ(shape.with_inserted(0, 1), (Shape{1, 2, 3}));
  EXPECT_EQ(shape.with_inserted(2, 7), (Shape{2, 3, 7}));
  EXPECT_EQ(shape.with_removed(0), (Shape{3}));
  EXPECT_EQ(shape.with_removed(-1), (Shape{2}));
  EXPECT_EQ(shape.with_dim(1, 9), (Shape{2, 9}));
  EXPECT_THROW(shape.with_inserted(3, 1), InvalidArgument);
  EXPECT_THROW(shape.with_dim(1, -9), InvalidArgument);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1}).with_inserted(0, 1), InvalidArgument);
}

TEST(ShapeTest, ComparesExtents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 0}));
  EXPECT_EQ((Shape{2, 0}).with_removed(1), (Shape{2}));
}

}  // namespace
}  // namespace plimsoll
