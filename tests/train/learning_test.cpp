// Training in short: the long forms are in learning_slow_test.cpp.
#include <gtest/gtest.h>

#include <plimsoll/nn/models.h>

#include "support/digits_training.h"
#include "support/growth.h"
#include "support/text_memory.h"

namespace plimsoll {
namespace {

TEST(Learning, LenetLearnsMostDigitsInThreeEpochs) {
  const testing::DigitsRun run = testing::train_digits(DType::f32, 3, 1);
  EXPECT_GE(run.accuracy, 0.9);
}

TEST(Learning, ASmallLanguageModelMemorisesALine) {
  const auto model = nn::gpt2(
      {.vocabulary = 256, .context = 32, .features = 32, .layers = 2, .heads = 2, .dropout = 0});
  EXPECT_GE(testing::memorise(model, testing::page_of_text().substr(0, 96), 32, 150, 1e-2), 0.99);
}

TEST(Learning, StepsLeaveNoMemoryBehind) { testing::expect_no_growth(300); }

}  // namespace
}  // namespace plimsoll
