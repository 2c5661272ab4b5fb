// AdamW with moments of 8 bits, beside the one with moments of f32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/optim/adaptive.h>
#include <plimsoll/train/trainer.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/random_training.h"

namespace plimsoll::optim {
namespace {

using test::random_tensor;

/// The loss of a regression that nothing fits, after `steps` steps from the same start.
float loss_after(Optimizer optimizer, int steps) {
  const Tensor x = random_tensor({256, 64}, 1);
  const Tensor y = random_tensor({256, 65}, 2);
  const Variable weight(random_tensor({64, 65}, 3), {.name = "weight"});
  Tensor loss;
  for (int i = 0; i < steps; ++i) {
    ops::GradientTape tape;
    loss = nn::mean_squared_error(ops::matmul(x, weight.value()), y);
    optimizer.apply(tape.gradient(loss, {weight}));
  }
  return loss.item<float>();
}

TEST(Adamw8bit, LearnsWhatAdamwLearns) {
  const AdamOptions options = {.lr = 0.02, .weight_decay = 0.01};
  const float start = loss_after(adamw(options), 1);
  const float exact = loss_after(adamw(options), 200);
  const float packed = loss_after(adamw_8bit(options), 200);
  EXPECT_LT(exact, start / 10);
  EXPECT_LT(packed, 1.005 * exact);
  EXPECT_NEAR(packed, exact, 0.02 * exact);
}

TEST(Adamw8bit, NeedsNoFirstMoment) {
  const AdamOptions options = {.lr = 0.02, .beta1 = 0, .weight_decay = 0.01};
  const float exact = loss_after(adamw(options), 200);
  const float packed = loss_after(adamw_8bit(options), 200);
  EXPECT_LT(exact, loss_after(adamw(options), 1) / 10);
  EXPECT_NEAR(packed, exact, 0.02 * exact);
}

TEST(Adamw8bit, KeepsAQuarterOfTheState) {
  const Variable large(random_tensor({512, 300}, 1), {.name = "large"});
  const std::vector<Variable> all = {large};
  Optimizer exact = adamw();
  Optimizer packed = adamw_8bit();
  exact.attach(all);
  packed.attach(all);
  EXPECT_LT(static_cast<double>(packed.state_bytes()),
            0.255 * static_cast<double>(exact.state_bytes()));
}

TEST(Adamw8bit, SmallParametersAreExact) {
  const Tensor start = random_tensor({64, 63}, 1);
  const Variable a(start.clone(), {.name = "a"});
  const Variable b(start.clone(), {.name = "b"});
  Optimizer exact = adamw();
  Optimizer packed = adamw_8bit();
  for (int step = 0; step < 3; ++step) {
    const Tensor gradient = random_tensor({64, 63}, static_cast<std::uint64_t>(step) + 5);
    exact.apply({.variables = {a}, .tensors = {gradient}});
    packed.apply({.variables = {b}, .tensors = {gradient}});
  }
  EXPECT_TRUE(test::same_bits(a.tensor(), b.tensor()));
}

/// How far `optimizer` moves two halves of a parameter, each in the mean of its elements, in 100
/// steps: after 1,500 with gradients of the same size, and 4,500 in which those of the second half
/// are a tenth of that. Both halves are in every block.
std::pair<double, double> moved_after_a_fall(Optimizer optimizer) {
  constexpr std::int64_t kElements = 4096;
  const Variable weight(Tensor::zeros({kElements}, DType::f32, test::op_cases_device()),
                        {.name = "weight"});
  Tensor before;
  for (std::uint64_t step = 0; step < 6000; ++step) {
    Tensor g = random_tensor({kElements}, step);
    auto* numbers = g.mutable_data<float>();
    for (std::int64_t i = 1; step >= 1500 && i < kElements; i += 2) numbers[i] *= 0.1F;
    // A slope, so that there is something to learn.
    for (std::int64_t i = 0; i < kElements; ++i) numbers[i] += step >= 1500 && i % 2 ? 0.05F : 0.5F;
    if (step == 5900) before = weight.tensor().clone();
    optimizer.apply({.variables = {weight}, .tensors = {g}});
  }
  std::pair<double, double> moved;
  const auto from = before.to_vector<float>();
  const auto to = weight.tensor().to_vector<float>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    (i % 2 == 0 ? moved.first : moved.second) += static_cast<double>(from[i] - to[i]);
  }
  return moved;
}

TEST(Adamw8bit, SecondMomentsFollowGradientsThatBecomeSmall) {
  const AdamOptions options = {.lr = 1e-3};
  const auto [exact_large, exact_small] = moved_after_a_fall(adamw(options));
  const auto [large, small] = moved_after_a_fall(adamw_8bit(options));
  EXPECT_NEAR(large, exact_large, 0.02 * exact_large);
  EXPECT_NEAR(small, exact_small, 0.05 * exact_small);
}

TEST(Adamw8bit, DoesNotDependOnTheNumberOfThreads) {
  const Tensor start = random_tensor({700, 257}, 1);
  EXPECT_TRUE(test::independent_of_threads([&] {
    const Variable weight(start.clone(), {.name = "weight"});
    Optimizer optimizer = adamw_8bit({.lr = 0.01});
    for (std::uint64_t step = 0; step < 3; ++step) {
      optimizer.apply({.variables = {weight}, .tensors = {random_tensor({700, 257}, 5 + step)}});
    }
    std::vector<Tensor> all = {weight.tensor()};
    for (const auto& state : optimizer.state()) all.push_back(state.tensor());
    return all;
  }));
}

TEST(Adamw8bit, GoesOnFromAStateWithTheSameBits) {
  const Variable whole(random_tensor({100, 100}, 1), {.name = "weight"});
  Optimizer one = adamw_8bit({.lr = 0.01});
  const Variable resumed(Tensor::zeros({100, 100}, DType::f32, test::op_cases_device()),
                         {.name = "weight"});
  Optimizer two = adamw_8bit({.lr = 0.01});
  for (std::uint64_t step = 0; step < 6; ++step) {
    if (step == 3) {
      ops::assign(resumed.value(), whole.value());
      two.attach(std::vector<Variable>{resumed});
      two.materialize(whole.tensor().device());
      for (std::size_t i = 0; i < one.state().size(); ++i) {
        ops::assign(two.state()[i].value(), one.state()[i].value());
      }
      two.set_step(one.step());
    }
    const Tensor g = random_tensor({100, 100}, 5 + step);
    one.apply({.variables = {whole}, .tensors = {g}});
    if (step >= 3) two.apply({.variables = {resumed}, .tensors = {g}});
  }
  EXPECT_TRUE(test::same_bits(whole.tensor(), resumed.tensor()));
}

TEST(Adamw8bit, AGradientThatIsNotFiniteSpoilsItsBlockAlone) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Variable weight(Tensor::zeros({8192}, DType::f32, test::op_cases_device()),
                          {.name = "weight"});
    Optimizer optimizer = adamw_8bit();
    for (std::uint64_t step = 0; step < 3; ++step) {
      Tensor g = random_tensor({8192}, step);
      if (step == 0) g.mutable_data<float>()[300] = bad;
      optimizer.apply({.variables = {weight}, .tensors = {g}});
    }
    const auto values = weight.tensor().to_vector<float>();
    EXPECT_TRUE(std::isnan(values[300]));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i / 256 != 1) {
        ASSERT_TRUE(std::isfinite(values[i])) << i;
      }
    }
  }
}

TEST(Adamw8bit, ATrainingRunTakesLessThanWithAdamw) {
  const auto total = [](Optimizer optimizer) {
    train::Trainer trainer(nn::gpt2({.vocabulary = 50257, .context = 256}), std::move(optimizer),
                           {.precision = train::Precision::parse("bf16"), .allow_split = false});
    return trainer.plan({.batch = 8}, plan::describe_device("h200")).total();
  };
  const Bytes exact = total(adamw());
  const Bytes packed = total(adamw_8bit());
  // The moments of 124 million numbers take 947 MiB, and 241 in 8 bits.
  EXPECT_LT(packed, exact - MiB(700)) << format_bytes(packed) << " of " << format_bytes(exact);
}

TEST(Adamw8bit, LossesDoNotDependOnTheBudget) {
  const auto model = [] { return nn::mlp({.in = 16, .hidden = {96, 96}, .classes = 4}); };
  test::check_budgets(
      [&] { return train::Trainer(model(), adamw_8bit({.lr = 0.01}), {.allow_split = false}); },
      test::any_data(model(), 4, 256), 64, 4, 3);
}

}  // namespace
}  // namespace plimsoll::optim
