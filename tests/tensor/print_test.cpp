#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/tensor/tensor.h>

#include "device/device_state.h"
#include "device/fake_backend.h"
#include "support/own_device.h"

namespace plimsoll {
namespace {

class PrintTest : public ::testing::Test {
 protected:
  template <typename T>
  std::string print(std::initializer_list<T> values, const Shape& shape) const {
    return Tensor::from_values<T>(values, shape, cpu_).to_string();
  }
  Tensor counting(const Shape& shape) const {
    std::vector<std::int32_t> values(static_cast<std::size_t>(shape.elements()));
    std::iota(values.begin(), values.end(), 0);
    return Tensor::from_values<std::int32_t>(values, shape, cpu_);
  }

  Device cpu_ = test::own_cpu({.limit = MiB(16)});
};

TEST_F(PrintTest, FloatsLineUpAtThePoint) {
  EXPECT_EQ(print<float>({1, 2, 3, 4}, {2, 2}), "[[1. 2.]\n [3. 4.]]\nf32 [2,2] on cpu:0");
  EXPECT_EQ(print<float>({1, -2.5F, 13.25F}, {3}), "[ 1.   -2.5  13.25]\nf32 [3] on cpu:0");
  EXPECT_EQ(print<double>({1.0 / 3}, {1}), "[0.33333333]\nf64 [1] on cpu:0");
  EXPECT_EQ(print<double>({0.5}, {}), "0.5\nf64 [] on cpu:0");
}

TEST_F(PrintTest, ShortFloatsShowTheirOwnDigits) {
  EXPECT_EQ(print<float>({0.1F}, {1}), "[0.1]\nf32 [1] on cpu:0");
  EXPECT_EQ(print<Float16>({Float16(0.1F)}, {1}), "[0.1]\nf16 [1] on cpu:0");
  EXPECT_EQ(print<BFloat16>({BFloat16(0.1F), BFloat16(3.14F)}, {2}),
            "[0.1  3.14]\nbf16 [2] on cpu:0");
}

TEST_F(PrintTest, WideRangesUseExponents) {
  EXPECT_EQ(print<double>({1e10, 1.5e-5}, {2}), "[1.0e+10 1.5e-05]\nf64 [2] on cpu:0");
  EXPECT_EQ(print<double>({0, 1e-9}, {2}), "[0.e+00 1.e-09]\nf64 [2] on cpu:0");
}

TEST_F(PrintTest, WhatIsNoNumberIsNamed) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(print<double>({1.5, std::nan(""), -infinity, infinity}, {4}),
            "[ 1.5  nan -inf  inf]\nf64 [4] on cpu:0");
  EXPECT_EQ(print<double>({std::nan("")}, {1}), "[nan]\nf64 [1] on cpu:0");
}

TEST_F(PrintTest, IntegersAndBooleansAreAlignedRight) {
  EXPECT_EQ(print<std::int8_t>({1, -100, 7}, {3}), "[   1 -100    7]\ni8 [3] on cpu:0");
  EXPECT_EQ(print<std::uint8_t>({255}, {}), "255\nu8 [] on cpu:0");
  EXPECT_EQ(print<bool>({true, false}, {2}), "[ True False]\nbool [2] on cpu:0");
  EXPECT_EQ(print<std::int64_t>({std::numeric_limits<std::int64_t>::min()}, {1}),
            "[-9223372036854775808]\ni64 [1] on cpu:0");
}

TEST_F(PrintTest, StringsAreQuoted) {
  const Tensor tensor = Tensor::from_strings({"cat", "a'\n", std::string(50, 'x')}, {3}, cpu_);
  EXPECT_EQ(tensor.to_string(),
            "[b'cat' b'a\\'\\x0a' b'" + std::string(40, 'x') + "...']\nbytes [3] on cpu:0");
}

TEST_F(PrintTest, DimensionsNest) {
  EXPECT_EQ(counting({2, 2, 2}).to_string(),
            "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\ni32 [2,2,2] on cpu:0");
  EXPECT_EQ(counting({2, 2}).transpose(0, 1).to_string(), "[[0 2]\n [1 3]]\ni32 [2,2] on cpu:0");
}

TEST_F(PrintTest, LargeOnesAreSummarised) {
  EXPECT_EQ(counting({1001}).to_string(),
            "[   0    1    2 ...  998  999 1000]\ni32 [1001] on cpu:0");
  EXPECT_EQ(counting({1000, 2}).to_string(),
            "[[   0    1]\n [   2    3]\n [   4    5]\n ...\n [1994 1995]\n [1996 1997]\n [1998 "
            "1999]]\ni32 [1000,2] on cpu:0");
  EXPECT_EQ(counting({9}).to_string({.threshold = 5, .edge = 1}), "[0 ... 8]\ni32 [9] on cpu:0");
}

TEST_F(PrintTest, LongRowsWrap) {
  const std::string text = counting({100}).to_string();
  std::size_t longest = 0;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    longest = std::max(longest, end - start);
    start = end + 1;
  }
  EXPECT_LE(longest, 75U);
  EXPECT_GT(longest, 60U);
  EXPECT_THAT(text, ::testing::StartsWith("[ 0  1  2"));
}

TEST_F(PrintTest, NothingIsPrintedAsSuch) {
  EXPECT_EQ(print<float>({}, {0, 3}), "[]\nf32 [0,3] on cpu:0");
  EXPECT_EQ(Tensor().to_string(), "undefined tensor");
}

TEST_F(PrintTest, AClosedSessionsTensorSaysSo) {
  Session session = cpu_.session("s");
  const Tensor tensor = Tensor::zeros({2}, DType::f32, session.device());
  session.close();
  EXPECT_EQ(tensor.to_string(), "closed with its session\nf32 [2] on cpu:0/s");
}

TEST_F(PrintTest, FarMemoryIsFetched) {
  const Device gpu = Device::State::open(std::make_shared<FakeBackend>(MiB(64), 0), {});
  EXPECT_EQ(counting({3}).to(gpu).to_string(), "[0 1 2]\ni32 [3] on cuda:3");
}

}  // namespace
}  // namespace plimsoll
