// CTC against PyTorch's (tests/nn/record/record_ctc.py); tests/ops/recorded/ctc.json has the op.
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/ctc.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/train/trainer.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/own_device.h"
#include "support/recorded.h"

namespace plimsoll::nn {
namespace {

using test::complaint;
using test::random_tensor;
using ::testing::HasSubstr;

Tensor integers(const std::vector<std::int64_t>& values, const Shape& shape) {
  return Tensor::from_values(std::span<const std::int64_t>(values), shape, test::op_cases_device());
}

Tensor lengths(const std::vector<std::int64_t>& values) {
  return integers(values, {static_cast<std::int64_t>(values.size())});
}

TEST(CtcLoss, EqualsPyTorchsInTwentyRandomConfigurations) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("{}", i);
    const auto how = test::recorded_tensor("ctc", name + ".o").to_vector<std::int64_t>();
    const CtcLossOptions options = {.blank = how[0],
                                    .reduction = static_cast<CtcReduction>(how[1]),
                                    .zero_infinity = how[2] != 0};
    test::expect_recorded("ctc", name, [&](const Tensors& in) {
      return Tensors{ctc_loss(in[0], in[1], in[2], in[3], options)};
    });
    // Labels end where they are negative.
    test::expect_recorded("ctc", name, [&](const Tensors& in) {
      return Tensors{ctc_loss(in[0], in[1], in[2], {}, options)};
    });
  }
}

TEST(CtcLoss, TakesLogarithmsOfProbabilitiesAndAnyIntegers) {
  const Tensor logits = random_tensor({2, 5, 4}, 1);
  const Tensor labels = integers({1, 2, 3, -1}, {2, 2});
  const double expected = ctc_loss(logits, labels).item<float>();
  EXPECT_NEAR(ctc_loss(ops::log_softmax(logits, 2), labels).item<float>(), expected, 1e-6);
  const Tensor narrow = ops::cast(labels, DType::i32);
  const Tensor steps = ops::cast(lengths({5, 5}), DType::i32);
  EXPECT_EQ(ctc_loss(logits, narrow, steps, lengths({2, 1})).item<float>(), expected);
}

TEST(CtcLoss, OfAnAlignmentThatCannotBeIsInfiniteOrLeftOut) {
  const Tensor logits = random_tensor({2, 3, 3}, 2);
  const Tensor labels = integers({1, 1, 1, 2}, {2, 2});
  const Tensor steps = lengths({2, 3});  // the first needs a blank between its labels
  const auto apart =
      ctc_loss(logits, labels, steps, {}, {.reduction = CtcReduction::none}).to_vector<float>();
  EXPECT_EQ(apart[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isfinite(apart[1]));
  const CtcLossOptions kept = {.reduction = CtcReduction::sum, .zero_infinity = true};
  EXPECT_EQ(ctc_loss(logits, labels, steps, {}, kept).item<float>(), apart[1]);
}

TEST(CtcLoss, GradientsAreWhatDifferencesSay) {
  const Tensor labels = integers({1, 1, 2, 3, -1, -1}, {2, 3});
  for (const CtcReduction reduction : {CtcReduction::mean, CtcReduction::sum, CtcReduction::none}) {
    test::expect_gradients(
        [&](const Tensors& in) {
          return Tensors{ctc_loss(in[0], labels, lengths({6, 4}), {}, {.reduction = reduction})};
        },
        {random_tensor({2, 6, 4}, 3, DType::f64)});
  }
}

TEST(CtcLoss, DoesNotDependOnTheNumberOfThreads) {
  const Tensor logits = random_tensor({9, 30, 5}, 4);
  const Tensor labels = ops::shift(test::random_indices({9, 7}, 4, 5), 1);
  EXPECT_TRUE(test::independent_of_threads([&] {
    ops::GradientTape tape;
    tape.watch(logits);
    const Tensor loss = ctc_loss(logits, labels);
    return std::vector<Tensor>{loss, tape.gradient(loss, logits)};
  }));
}

TEST(CtcLoss, TrainsByName) {
  const Device own = test::own_cpu({.limit = MiB(64)});
  const Tensor x = random_tensor({4, 8, 3}, 6).to(own);
  const Tensor y = integers({1, 2, 2, -1, 3, 1, 2, 2}, {4, 2}).to(own);
  train::Trainer trainer(Sequential(Dense(16), ReLU(), Dense(4)),
                         {.loss = "ctc", .optimizer = optim::adam({.lr = 0.02}), .device = own});
  const train::FitResult result =
      trainer.fit(data::Dataset::from_tensor_slices({x, y}).batch(4), {.epochs = 30});
  EXPECT_EQ(result.planned_peak, result.measured_peak);
  EXPECT_LT(result.losses.back(), 0.5 * result.losses.front());
}

TEST(CtcLoss, MistakesAreNamed) {
  const Tensor x = random_tensor({2, 5, 4}, 1);
  const Tensor labels = integers({1, 2, 3, 1}, {2, 2});
  EXPECT_THAT(complaint([&] { ctc_loss(x, lengths({1, 2})); }), HasSubstr("labels [n, most]"));
  EXPECT_THAT(complaint([&] {
                ctc_loss(x, labels, lengths({5, 6}));
              }),
              HasSubstr("[ctc_loss] sequence 1 has a length of 6; it must be between 0 and 5"));
  EXPECT_THAT(complaint([&] {
                ctc_loss(x, labels, {}, lengths({3, 1}));
              }),
              HasSubstr("[ctc_loss] sequence 0 has 3 labels"));
  EXPECT_THAT(complaint([&] {
                ctc_loss(x, integers({1, 2, 3, 4}, {2, 2}));
              }),
              HasSubstr("label 1 of sequence 1 is 4; it must be one of 4 classes"));
  EXPECT_THAT(complaint([&] {
                ctc_loss(x, integers({1, 0, 3, 2}, {2, 2}));
              }),
              HasSubstr("label 1 of sequence 0 is 0, the blank"));
  EXPECT_THAT(complaint([&] { ctc_loss(x, labels, {}, {}, {.blank = 4}); }),
              HasSubstr("the blank is class 4 of 4"));
  EXPECT_THAT(complaint([&] { ctc_loss(x, labels, lengths({5})); }),
              HasSubstr("lengths must have shape [2]"));
}

}  // namespace
}  // namespace plimsoll::nn
