#include <plimsoll/train/reduce_on_plateau.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/dense.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/train/trainer.h>

#include "support/op_checks.h"
#include "support/own_device.h"

namespace plimsoll::train {
namespace {

using test::complaint;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class ReduceOnPlateau : public ::testing::Test {
 protected:
  /// The rates of eight epochs with a metric that does not change.
  std::vector<double> rates(const ReduceOnPlateauOptions& options) {
    const Tensor x = test::random_tensor({4, 2}, 1).to(device_);
    Trainer trainer(
        nn::Dense(1),
        {.loss = [](const Tensor& y, const Tensor&) { return ops::scale(ops::mean(y), 0); },
         .optimizer = optim::sgd({.lr = 0.5}),
         .device = device_});
    std::vector<double> seen;
    const Callback look{.on_step = [&](train::Run& run) { seen.push_back(run.rate()); }};
    trainer.fit(data::Dataset::from_tensor_slices({x, x}).batch(4),
                {.epochs = 8, .callbacks = {look, reduce_on_plateau(options)}});
    return seen;
  }

  Device device_ = test::own_cpu({.limit = MiB(64)});
};

TEST_F(ReduceOnPlateau, LowersTheRateAfterItsPatience) {
  EXPECT_THAT(rates({.metric = "loss", .factor = 0.5, .patience = 1}),
              Pointwise(DoubleNear(1e-9),
                        std::vector<double>{0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625}));
}

TEST_F(ReduceOnPlateau, WaitsAfterAReductionAndStopsAtTheLeastRate) {
  EXPECT_THAT(
      rates({.metric = "loss", .factor = 0.5, .patience = 0, .cooldown = 1, .min_rate = 0.2}),
      Pointwise(DoubleNear(1e-9), std::vector<double>{0.5, 0.5, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2}));
}

TEST_F(ReduceOnPlateau, MistakesAreNamed) {
  EXPECT_THAT(complaint([] { reduce_on_plateau({.factor = 1}); }), HasSubstr("factor is 1"));
  EXPECT_THAT(complaint([] { reduce_on_plateau({.patience = -1}); }), HasSubstr("patience -1"));
  EXPECT_THAT(complaint([&] { rates({.metric = "validation_loss"}); }),
              HasSubstr("there is no metric 'validation_loss'; there are loss"));
}

}  // namespace
}  // namespace plimsoll::train
