// Nothing waits in a training on a GPU, and no number changes for it.

#include <chrono>
#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include <plimsoll/device/backend.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/random_training.h"

namespace plimsoll {
namespace {

class OverlapOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (find_backend("cuda")->count(why) == 0) GTEST_SKIP() << why;
    gpu_.emplace(test::own_device("cuda:0"));
  }

  static nn::Model model() {
    return nn::gpt2({.vocabulary = 512, .context = 256, .features = 512, .layers = 8, .heads = 8});
  }
  struct How {
    bool overlap = true;
    bool prefetch = false;
    std::int64_t accumulate = 1;
    bool validates = false;
  };
  train::FitResult fit(DType precision, const How& how, std::int64_t steps = 12) const {
    train::Trainer trainer(model(), optim::adamw({.lr = optim::Schedule::cosine(1e-3, 40)}),
                           {.precision = precision, .seed = 3, .accumulate = how.accumulate});
    const auto plan = trainer.plan({.batch = 16, .validation_batch = 16}, *gpu_);
    auto data = test::any_data(trainer.model(), 512, 16 * steps).batch(16);
    if (how.prefetch) data = data.prefetch_to(*gpu_, 2);
    train::FitOptions options{.epochs = 2};
    options.host = test::own_cpu();
    options.overlap = how.overlap;
    std::optional<data::Dataset> validation;
    if (how.validates) validation = test::any_data(trainer.model(), 512, 40).batch(16);
    return trainer.fit(plan, data, validation, options);
  }

  std::optional<Device> gpu_;
};

TEST_F(OverlapOnGpu, NumbersAreTheSameHoweverTheyAreRead) {
  for (const DType precision : {DType::bf16, DType::f16}) {
    for (const std::int64_t accumulate : {1, 4}) {
      const auto expected =
          fit(precision, {.overlap = false, .accumulate = accumulate, .validates = true});
      for (const bool prefetch : {false, true}) {
        const auto result =
            fit(precision, {.prefetch = prefetch, .accumulate = accumulate, .validates = true});
        EXPECT_EQ(result.losses, expected.losses);
        EXPECT_EQ(result.history, expected.history);
        for (const float loss : result.losses) EXPECT_TRUE(std::isfinite(loss));
      }
    }
  }
  for (const Holder& holder : gpu_->budget().ledger().holders()) {
    EXPECT_NE(holder.tag, Tag::prefetch) << holder.label;
  }
}

TEST_F(OverlapOnGpu, OpTimesAreMeasuredInAStep) {
  const auto result = fit(DType::bf16, {.prefetch = true}, 20);
  EXPECT_GT(result.corrected_step_seconds, 0);
  EXPECT_GT(result.measured_step_seconds, 0);
  const double ratio = result.corrected_step_seconds / result.measured_step_seconds;
  RecordProperty("corrected_to_measured", std::to_string(ratio));
  EXPECT_GT(ratio, 0.5);
  EXPECT_LT(ratio, 3);
}

TEST_F(OverlapOnGpu, StepsAreSubmittedAheadThoughTheRateChanges) {
  using Clock = std::chrono::steady_clock;
  train::Trainer trainer(model(), optim::adamw({.lr = optim::Schedule::cosine(1e-3, 40)}),
                         {.precision = bf16, .allow_split = false});
  const auto plan = trainer.plan({.batch = 64}, *gpu_);
  const TensorType x_type = trainer.model().input_type(64);
  const TensorType y_type = trainer.model().target_type(64);
  const Tensor x = Tensor::zeros(x_type.shape, x_type.dtype, *gpu_);
  const Tensor y = Tensor::zeros(y_type.shape, y_type.dtype, *gpu_);
  for (int i = 0; i < 4; ++i) trainer.step(plan, x, y);
  (void)trainer.loss();
  const auto begin = Clock::now();
  for (int i = 0; i < 16; ++i) trainer.step(plan, x, y);
  const std::chrono::duration<double> submitted = Clock::now() - begin;
  EXPECT_TRUE(std::isfinite(trainer.loss()));
  const std::chrono::duration<double> done = Clock::now() - begin;
  EXPECT_LT(submitted.count(), done.count() / 2);
}

}  // namespace
}  // namespace plimsoll
