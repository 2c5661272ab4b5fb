// AdamW with moments of 8 bits, beside the one with moments of f32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/optim/adaptive.h>
#include <plimsoll/train/trainer.h>

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

TEST(Adamw8bit, ALargeParameterIsUpdatedInPartsWithTheSameBits) {
  constexpr std::int64_t kRows = 16384;  // what is updated at once, in rows of a block
  const Tensor start = random_tensor({kRows + 100, 256}, 1);
  const Variable whole(start.clone(), {.name = "whole"});
  const Variable front(start.slice(0, 0, kRows).clone(), {.name = "front"});
  const Variable back(start.slice(0, kRows, kRows + 100).clone(), {.name = "back"});
  Optimizer one = adamw_8bit({.lr = 0.01});
  Optimizer two = adamw_8bit({.lr = 0.01});
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Tensor g = random_tensor({kRows + 100, 256}, 5 + step);
    one.apply({.variables = {whole}, .tensors = {g}});
    two.apply({.variables = {front, back},
               .tensors = {g.slice(0, 0, kRows).clone(), g.slice(0, kRows, kRows + 100).clone()}});
  }
  EXPECT_TRUE(test::same_bits(whole.tensor().slice(0, 0, kRows).clone(), front.tensor()));
  EXPECT_TRUE(test::same_bits(whole.tensor().slice(0, kRows, kRows + 100).clone(), back.tensor()));
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
