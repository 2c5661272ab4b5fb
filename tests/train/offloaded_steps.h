#pragma once

// A small transformer, trained with everything on its device and then within budgets that put
// activations and the optimizer's state into pinned host memory. One suite for every kind of
// device:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, OffloadedSteps, ::testing::ValuesIn(my_cases),
//   offload_case_name);

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/missing_device.h"
#include "support/own_device.h"
#include "support/random_training.h"
#include "support/toy_training.h"

namespace plimsoll::test {

struct OffloadCase {
  std::string name;
  std::string device;
  DType precision = DType::f32;
  bool has_state = true;  ///< AdamW; else plain SGD, which has none to put away
  nn::Gpt2Options model = {};
  std::int64_t batch = 0;
  Bytes offload = 0;  ///< of the host's memory, at most

  friend void PrintTo(const OffloadCase& c, std::ostream* out) { *out << c.name; }
};

inline std::string offload_case_name(const ::testing::TestParamInfo<OffloadCase>& info) {
  return info.param.name;
}

class OffloadedSteps : public ::testing::TestWithParam<OffloadCase> {
 protected:
  static constexpr std::int64_t kSteps = 5;

  void SetUp() override {
    if (const auto why = why_missing(GetParam().device); !why.empty()) GTEST_SKIP() << why;
    // Kept open, so that what a context takes is there before anything is measured.
    kept_.emplace(test::own_device(GetParam().device, {.limit = GiB(4)}));
    pinned_.emplace(test::own_cpu({.limit = GetParam().offload}));
    input_.emplace(test::own_cpu({.limit = MiB(256)}));
  }

  static Device open(Bytes limit) { return test::own_device(GetParam().device, {.limit = limit}); }

  static train::Trainer trainer() {
    const OffloadCase& c = GetParam();
    return {nn::gpt2(c.model),
            c.has_state ? optim::adamw({.lr = 1e-3}) : optim::sgd({.lr = 0.05}),
            {.precision = c.precision, .seed = 3, .allow_split = false}};
  }

  train::PlanRequest request(bool offload) const {
    train::PlanRequest asked{.batch = GetParam().batch};
    if (offload) {
      asked.offload = GetParam().offload;
      asked.host = *pinned_;
    }
    return asked;
  }

  /// The least that a refusal names.
  Bytes least(bool offload) const {
    const Bytes little = kept_->capabilities().host_memory ? KiB(256) : MiB(2);
    try {
      (void)trainer().plan(request(offload), open(kept_->runtime() + little));
    } catch (const BudgetTooSmall& error) {
      return parse_refusal(error.what()).budget;
    }
    ADD_FAILURE() << "it fits " << format_bytes(little);
    return 0;
  }

  /// How often a step copies something to the host or back.
  struct Copied {
    int values = 0;
    int state = 0;
  };
  static Copied copied(const train::TrainingPlan& plan) {
    Copied all;
    for (const auto& step : plan.phases.front().steps) {
      for (const plan::PlannedCopy& copy : step->copies) {
        (copy.state ? all.state : all.values) += 1;
      }
    }
    return all;
  }

  struct Outcome {
    std::vector<float> losses;
    Copied copies;
    Bytes total = 0;
  };

  Outcome run(Bytes limit, bool offload) const {
    const Device device = open(limit);
    train::Trainer t = trainer();
    const auto plan = t.plan(request(offload), device);
    EXPECT_EQ(plan.parts(), 1);
    EXPECT_LE(plan.total(), limit);
    const Bytes before = pinned_->budget().used();
    const data::Dataset data =
        any_data(t.model(), GetParam().model.vocabulary, GetParam().batch * kSteps);
    Bytes driver = 0;
    Bytes pinned = 0;
    train::FitOptions options{.steps = kSteps};
    options.host = *input_;
    options.callbacks = {{.on_step = [&](train::Run&) {
      if (!device.capabilities().host_memory) {
        driver = std::max(driver, device.process_used().value_or(0));
      }
      pinned = std::max(pinned, pinned_->budget().used() - before);
    }}};
    const auto result = t.fit(plan, data.batch(GetParam().batch), options);
    EXPECT_EQ(result.planned_peak, result.measured_peak);
    EXPECT_LE(result.charged_peak, limit);
    EXPECT_LE(driver, limit) << "as the driver counts; the runtime was charged with "
                             << device.runtime();
    // Pages of the arena that holds it are in the host's figure.
    EXPECT_LE(plan.pinned(), GetParam().offload);
    EXPECT_GE(pinned, plan.pinned());
    EXPECT_LE(pinned_->budget().peak(), GetParam().offload);
    if (!offload) {
      EXPECT_EQ(plan.pinned(), 0U);
    }
    t.release();
    EXPECT_EQ(pinned_->budget().used(), before);
    return {result.losses, copied(plan), plan.total()};
  }

  std::optional<Device> kept_;
  std::optional<Device> pinned_;
  std::optional<Device> input_;
};

TEST_P(OffloadedSteps, LossesAreTheSameToTheBitWhateverIsOnTheHost) {
  const Outcome ample = run(kept_->runtime() + GiB(2), false);
  ASSERT_EQ(ample.losses.size(), static_cast<std::size_t>(kSteps));
  for (const float loss : ample.losses) EXPECT_TRUE(std::isfinite(loss));
  EXPECT_NE(ample.losses.back(), ample.losses.front()) << "nothing was changed";

  const Bytes alone = least(false);
  const Bytes together = least(true);
  ASSERT_LT(together, alone) << "the host's memory saves nothing";
  ASSERT_LT(alone, ample.total);
  EXPECT_EQ(run(alone, false).losses, ample.losses);
  Copied most;
  for (const Bytes limit :
       {together, together + (alone - together) / 2, alone, alone + (ample.total - alone) / 2}) {
    SCOPED_TRACE(format_bytes(limit));
    const Outcome outcome = run(limit, true);
    EXPECT_EQ(outcome.losses, ample.losses);
    if (limit < alone) {
      EXPECT_GT(outcome.copies.values + outcome.copies.state, 0) << "nothing was put away";
    }
    most.values = std::max(most.values, outcome.copies.values);
    most.state = std::max(most.state, outcome.copies.state);
  }
  EXPECT_GT(most.values, 0) << "no activation was ever put away";
  EXPECT_EQ(most.state > 0, GetParam().has_state);
}

}  // namespace plimsoll::test
