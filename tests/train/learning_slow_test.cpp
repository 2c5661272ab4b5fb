// Real learning, on data that comes with the library.
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include <plimsoll/nn/models.h>

#include "support/digits_training.h"
#include "support/growth.h"
#include "support/text_memory.h"

namespace plimsoll {
namespace {

constexpr int kEpochs = 25;

TEST(Learning, LenetReaches98PercentInEveryPrecision) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const double wide = testing::train_digits(DType::f32, kEpochs, seed).accuracy;
    EXPECT_GE(wide, 0.98) << "seed " << seed;
    for (const DType dtype : {DType::bf16, DType::f16}) {
      const double narrow = testing::train_digits(dtype, kEpochs, seed).accuracy;
      EXPECT_GE(narrow, wide - 0.005) << dtype_name(dtype) << ", seed " << seed;
      std::printf("seed %d: f32 %.4f, %s %.4f\n", static_cast<int>(seed), wide,
                  std::string(dtype_name(dtype)).c_str(), narrow);
    }
  }
}

TEST(Learning, Gpt2TinyMemorisesAPage) {
  const auto model = nn::gpt2_tiny();
  const double share = testing::memorise(model, testing::page_of_text(), 128, 250, 1e-3);
  std::printf("%.4f of the next bytes are right\n", share);
  EXPECT_GE(share, 0.99);
}

TEST(Learning, TenThousandStepsLeaveNoMemoryBehind) { testing::expect_no_growth(10'000); }

}  // namespace
}  // namespace plimsoll
