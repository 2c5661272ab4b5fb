// Fifty steps of every optimizer with odd settings and zero gradients, and every schedule, beside
// PyTorch's or the papers' formulas (tests/nn/record/record_optimizers.py).
#include <array>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/optim/adaptive.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::optim {
namespace {

using test::recorded_tensor;

const std::string kSteps = "optimizers_long";
constexpr std::array kChecked = {1, 2, 10, 50};

/// Row `at` of a recorded tensor.
Tensor row(const Tensor& all, std::int64_t at) {
  return ops::reshape(ops::slice(all, 0, at, at + 1), all.shape().with_removed(0));
}

/// `share` of the largest value is what a parameter may differ by.
void expect_steps(const std::string& name, Optimizer optimizer, DType dtype, double share) {
  std::vector<Variable> variables;
  std::vector<Tensor> gradients;
  for (const int i : {0, 1}) {
    const Tensor start = recorded_tensor(kSteps, fmt::format("start.{}", i));
    variables.emplace_back(ops::cast(start, dtype).clone(),
                           VariableOptions{.name = fmt::format("p{}", i)});
    gradients.push_back(ops::cast(recorded_tensor(kSteps, fmt::format("gradient.{}", i)), dtype));
  }
  std::int64_t next = 0;
  for (int step = 1; step <= kChecked.back(); ++step) {
    optimizer.apply({.variables = variables,
                     .tensors = {row(gradients[0], step - 1), row(gradients[1], step - 1)}});
    if (step != kChecked.at(static_cast<std::size_t>(next))) continue;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const Tensor expected = row(recorded_tensor(kSteps, fmt::format("{}.{}", name, i)), next);
      test::expect_near(test::as_doubles(variables[i].tensor()), test::as_doubles(expected), share,
                        fmt::format("{} of {} after step {} in {}", variables[i].name(), name, step,
                                    dtype_name(dtype)));
    }
    ++next;
  }
}

/// In f64 what differs is the formula, in f32 rounding as well.
void expect_steps(const std::string& name, const std::function<Optimizer()>& make) {
  expect_steps(name, make(), DType::f64, 1e-9);
  expect_steps(name, make(), DType::f32, 2e-5);
}

TEST(RecordedSteps, OfTheUsualOptimizersEqualPyTorchs) {
  expect_steps("sgd", [] { return sgd({.lr = 9 / 128.0, .weight_decay = 3 / 64.0}); });
  expect_steps("sgd_momentum",
               [] { return sgd({.lr = 5 / 128.0, .momentum = 0.8125, .weight_decay = 1 / 8.0}); });
  expect_steps("sgd_nesterov", [] {
    return sgd({.lr = 5 / 128.0, .momentum = 0.9375, .nesterov = true, .weight_decay = 1 / 16.0});
  });
  expect_steps("adam", [] {
    return adam({.lr = 3 / 64.0,
                 .beta1 = 0.75,
                 .beta2 = 0.9375,
                 .epsilon = 1 / 1024.0,
                 .weight_decay = 1 / 4.0});
  });
  expect_steps("adam_without_first", [] {
    return adam({.lr = 3 / 64.0, .beta1 = 0, .beta2 = 0.9375, .epsilon = 1 / 1024.0});
  });
  expect_steps("adam_without_second", [] {
    return adam({.lr = 3 / 64.0, .beta1 = 0.75, .beta2 = 0, .epsilon = 1 / 64.0});
  });
  expect_steps("adamw", [] {
    return adamw({.lr = 3 / 64.0, .beta1 = 0.625, .beta2 = 0.9921875, .weight_decay = 3 / 4.0});
  });
  expect_steps("rmsprop", [] {
    return rmsprop(
        {.lr = 3 / 128.0, .decay = 0.8125, .epsilon = 1 / 1024.0, .weight_decay = 1 / 16.0});
  });
  expect_steps("rmsprop_momentum", [] {
    return rmsprop({.lr = 3 / 128.0,
                    .decay = 0.8125,
                    .epsilon = 1 / 1024.0,
                    .momentum = 0.6875,
                    .weight_decay = 1 / 16.0});
  });
}

TEST(RecordedSteps, OfAdaptiveOptimizersEqualPyTorchs) {
  expect_steps("adagrad", [] {
    return adagrad({.lr = 5 / 64.0,
                    .lr_decay = 1 / 8.0,
                    .initial_accumulator = 3 / 8.0,
                    .epsilon = 1 / 256.0,
                    .weight_decay = 1 / 16.0});
  });
  expect_steps("adagrad_from_zero", [] { return adagrad({.lr = 5 / 64.0}); });
  expect_steps("adadelta", [] {
    return adadelta(
        {.lr = 3 / 4.0, .rho = 0.78125, .epsilon = 1 / 512.0, .weight_decay = 1 / 16.0});
  });
  expect_steps("nadam", [] {
    return nadam({.lr = 3 / 128.0,
                  .beta1 = 0.875,
                  .beta2 = 0.96875,
                  .epsilon = 1 / 512.0,
                  .momentum_decay = 1 / 32.0,
                  .weight_decay = 1 / 8.0});
  });
  expect_steps("nadam_without_first",
               [] { return nadam({.lr = 3 / 128.0, .beta1 = 0, .beta2 = 0.96875}); });
  expect_steps("adafactor", [] {
    return adafactor({.lr = 5 / 64.0,
                      .beta2_decay = -0.625,
                      .epsilon = 1 / 1024.0,
                      .least_scale = 1 / 64.0,
                      .clip = 1.25,
                      .weight_decay = 1 / 4.0});
  });
  // Parameters of fewer than 4096 elements have moments of f32.
  expect_steps("adamw_without_first",
               adamw_8bit({.lr = 3 / 64.0, .beta1 = 0, .beta2 = 0.96875, .weight_decay = 1 / 4.0}),
               DType::f32, 2e-5);
}

TEST(RecordedSteps, OfThePapersEqualTheirFormulas) {
  expect_steps("lion", [] {
    return lion({.lr = 3 / 256.0, .beta1 = 0.8125, .beta2 = 0.96875, .weight_decay = 1 / 2.0});
  });
  for (const auto& [name, beta1] :
       {std::pair("lamb", 0.8125), std::pair("lamb_without_first", 0.0)}) {
    expect_steps(name, [beta = beta1] {
      return lamb({.lr = 3 / 128.0,
                   .beta1 = beta,
                   .beta2 = 0.9375,
                   .epsilon = 1 / 1024.0,
                   .weight_decay = 1 / 8.0});
    });
  }
  expect_steps("lazy_adam", [] {
    return lazy_adam({.lr = 3 / 64.0, .beta1 = 0.75, .beta2 = 0.9375, .epsilon = 1 / 1024.0});
  });
}

TEST(RecordedSteps, WithGroupsAndWithASchedule) {
  expect_steps("groups", [] {
    return adamw({.lr = 1 / 256.0,
                  .weight_decay = 1 / 2.0,
                  .groups = {{.name = "vectors",
                              .takes = [](const Variable& v) { return v.type().shape.rank() < 2; },
                              .rate_factor = 10,
                              .weight_decay_factor = 0}}});
  });
  // Rates along a cosine are not exact in f32.
  const SgdOptions options = {.lr = Schedule::cosine(0.25, 50), .momentum = 0.5};
  expect_steps("sgd_cosine", sgd(options), DType::f64, 1e-6);
  expect_steps("sgd_cosine", sgd(options), DType::f32, 2e-5);
}

TEST(RecordedSteps, SchedulesEqualPyTorchs) {
  const std::map<std::string, Schedule> schedules = {
      {"step", Schedule::step(0.3, 13, 0.7)},
      {"cosine", Schedule::cosine(0.3, 41, 0.02)},
      {"warm_restarts", Schedule::warm_restarts(0.3, 9, 2, 0.01)},
      {"warm_restarts_alike", Schedule::warm_restarts(0.3, 11)},
      {"polynomial", Schedule::polynomial(0.3, 33, 0, 1.7)},
      {"exponential", Schedule::exponential(0.3, 0.93)},
      {"piecewise", Schedule::piecewise({5, 6, 40}, {0.3, 0.15, 0.075, 0.0375})},
      {"one_cycle", Schedule::one_cycle(0.3, 70, 0.37, 7, 300)},
      {"custom",
       Schedule::custom([](std::int64_t step) { return 0.3 / (1 + static_cast<double>(step) / 3); },
                        "hyperbola")},
      {"warm_up", Schedule::step(0.3, 13, 0.7).warm_up(7)}};
  for (const auto& [name, schedule] : schedules) {
    const auto rates = test::as_doubles(recorded_tensor(kSteps, "rates." + name));
    ASSERT_EQ(rates.size(), 70U);
    for (std::size_t step = 0; step < rates.size(); ++step) {
      EXPECT_NEAR(schedule.at(static_cast<std::int64_t>(step)), rates[step], 1e-12)
          << name << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace plimsoll::optim
