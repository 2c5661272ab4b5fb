#include <plimsoll/base/dtype.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(DTypeNames, ReadBackAsThemselves) {
  for (const DType dtype : kDTypes) EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
}

TEST(DTypeNames, NumPysAreUnderstood) {
  EXPECT_EQ(parse_dtype("float32"), DType::f32);
  EXPECT_EQ(parse_dtype("bfloat16"), DType::bf16);
  EXPECT_EQ(parse_dtype("uint8"), DType::u8);
  EXPECT_EQ(parse_dtype("bool"), DType::boolean);
}

TEST(DTypeNames, UnknownOnesAreRefusedWithTheList) {
  EXPECT_THAT([] { parse_dtype("f8", "--precision"); },
              ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("--precision"), HasSubstr("\"f8\""), HasSubstr("bf16"))));
  EXPECT_THROW(parse_dtype(""), InvalidArgument);
  EXPECT_THROW(parse_dtype("F32"), InvalidArgument);
}

TEST(DTypeSizes, AreThoseOfTheCppTypes) {
  EXPECT_EQ(dtype_size(dtype_of<double>), sizeof(double));
  EXPECT_EQ(dtype_size(dtype_of<float>), sizeof(float));
  EXPECT_EQ(dtype_size(dtype_of<Float16>), sizeof(Float16));
  EXPECT_EQ(dtype_size(dtype_of<BFloat16>), sizeof(BFloat16));
  EXPECT_EQ(dtype_size(dtype_of<std::int64_t>), 8U);
  EXPECT_EQ(dtype_size(dtype_of<std::int32_t>), 4U);
  EXPECT_EQ(dtype_size(dtype_of<std::int16_t>), 2U);
  EXPECT_EQ(dtype_size(dtype_of<std::int8_t>), 1U);
  EXPECT_EQ(dtype_size(dtype_of<std::uint16_t>), 2U);
  EXPECT_EQ(dtype_size(dtype_of<std::uint8_t>), 1U);
  EXPECT_EQ(dtype_size(dtype_of<bool>), 1U);
  EXPECT_EQ(dtype_size(DType::bytes), 0U);
}

TEST(DTypeKinds, SeparateFloatingIntegerAndOther) {
  EXPECT_TRUE(is_floating(DType::bf16));
  EXPECT_FALSE(is_floating(DType::i64));
  EXPECT_TRUE(is_integer(DType::i64));
  EXPECT_TRUE(is_integer(DType::u8));
  EXPECT_FALSE(is_integer(DType::boolean));
  EXPECT_FALSE(is_integer(DType::bytes));
}

}  // namespace
}  // namespace plimsoll
