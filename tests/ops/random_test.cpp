#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/random.h>

#include "backend/cpu/random_stream.h"
#include "ops/random_draws.h"
#include "support/op_cases.h"

namespace plimsoll {

namespace test {
INSTANTIATE_TEST_SUITE_P(Cpu, RandomDraws, ::testing::Values("cpu:0"), draws_case_name);
}  // namespace test

namespace {

using test::op_cases_device;
using ::testing::HasSubstr;

TEST(Random, WordsAreThoseOfPhilox) {
  const cpu::RandomStream stream({.seed = 123456789012345, .step = 7, .micro_batch = 2}, 3);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(cpu::kRandomWords));
  const std::uint64_t first = (std::uint64_t{1} << 34) - 64;  // across the low word's end
  cpu::random_words(stream, first, words.data());
  for (std::size_t i = 0; i < words.size(); ++i) {
    ASSERT_EQ(words[i], stream.block((first + i) / 4)[i % 4]) << i;
  }
}

TEST(Random, BadArgumentsAreNamed) {
  const auto message = [](auto&& body) -> std::string {
    try {
      body();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  const Device& device = op_cases_device();
  EXPECT_THAT(message([&] {
                ops::random_uniform({DType::f32, {2}}, 2, 1, device);
              }),
              HasSubstr("[random_uniform] low 2 is above high 1"));
  EXPECT_THAT(message([&] {
                ops::random_normal({DType::f32, {2}}, 0, -1, device);
              }),
              HasSubstr("[random_normal] the deviation must be at least 0, not -1"));
  EXPECT_THAT(message([&] {
                ops::random_normal({DType::i32, {2}}, 0, 1, device);
              }),
              HasSubstr("is not defined for i32"));
}

}  // namespace
}  // namespace plimsoll
