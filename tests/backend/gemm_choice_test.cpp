#include <string>

#include <gtest/gtest.h>

#include "backend/cuda/libraries/gemm_choice.h"

namespace plimsoll {
namespace {

TEST(GemmChoice, IsReadAsItWasWritten) {
  cuda::GemmChoice choice{.library = "cuBLASLt 13.1.0", .fused_bias = true, .workspace = MiB(8)};
  for (std::size_t i = 0; i < choice.algorithm.size(); ++i) {
    choice.algorithm[i] = 0x9e3779b97f4a7c15U * (i + 1);
  }
  const std::string text = to_text(choice);
  EXPECT_EQ(text.substr(0, 60), "cuBLASLt 13.1.0 bias=1 workspace=8388608 algorithm=9e3779b97");
  EXPECT_EQ(cuda::parse_gemm_choice(text), choice);
}

TEST(GemmChoice, OtherTextIsNone) {
  const std::string text = to_text(cuda::GemmChoice{.library = "cuBLASLt 13.1.0"});
  ASSERT_TRUE(cuda::parse_gemm_choice(text));
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(cuda::parse_gemm_choice(text.substr(0, length))) << length;
  }
  EXPECT_FALSE(cuda::parse_gemm_choice(text + "0"));
  EXPECT_FALSE(cuda::parse_gemm_choice("cuDNN 9.19.0 eng46_k2=1"));
  EXPECT_FALSE(cuda::parse_gemm_choice(" algorithm= workspace= bias="));
  for (const std::string field : {" bias=", " workspace=", " algorithm="}) {
    std::string other = text;
    other.replace(other.find(field) + field.size(), 1, "x");
    EXPECT_FALSE(cuda::parse_gemm_choice(other)) << other;
  }
}

}  // namespace
}  // namespace plimsoll
