#include <plimsoll/plan/timeline.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/toy_training.h"

namespace plimsoll::plan {
namespace {

train::Trainer trainer() {
  return train::Trainer(nn::make_model("resnet18", {.classes = 4, .size = 32}),
                        optim::sgd({.lr = 0.1}), {.allow_split = false});
}

/// Plans of a step with everything kept, and with as little memory as possible.
std::vector<train::TrainingPlan> plans() {
  const DeviceDescription device = describe_device("cpu");
  std::vector<train::TrainingPlan> all;
  all.push_back(trainer().plan({.batch = 8}, device));
  Bytes least = 0;
  try {
    (void)trainer().plan({.batch = 8, .budget = MiB(1)}, device);
  } catch (const BudgetTooSmall& refused) {
    least = test::parse_refusal(refused.what()).budget;
  }
  all.push_back(trainer().plan({.batch = 8, .budget = least}, device));
  return all;
}

TEST(Timeline, PlacesEveryValueWhereThePlanDoes) {
  bool recomputes = false;
  for (const train::TrainingPlan& training : plans()) {
    const Plan& plan = *training.phases.front().steps.front();
    const Timeline timeline = timeline_of(plan);
    ASSERT_EQ(timeline.tasks.size(), plan.tasks.size());
    const int last = static_cast<int>(plan.tasks.size());
    Bytes top = 0;
    for (const TimelineValue& value : timeline.values) {
      EXPECT_GT(value.bytes, 0U);
      EXPECT_LE(value.from, value.to);
      EXPECT_LE(value.to, last);
      top = std::max(top, value.offset + value.bytes);
      recomputes = recomputes || value.kind == TimelineValue::Kind::again;
    }
    EXPECT_LE(top, plan.range);
    EXPECT_GT(top, plan.range - KiB(4)) << "but for rounding, the range is what they need";
    // Two are at one place at one time only where a task writes over what it reads.
    for (std::size_t i = 0; i < timeline.values.size(); ++i) {
      for (std::size_t j = i + 1; j < timeline.values.size(); ++j) {
        const TimelineValue& a = timeline.values[i];
        const TimelineValue& b = timeline.values[j];
        const bool places = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
        if (places && a.to >= b.from) {
          EXPECT_EQ(a.to, b.from) << i << " and " << j;
        }
      }
    }
  }
  EXPECT_TRUE(recomputes) << "the smallest plan recomputes";
}

TEST(Timeline, IsJsonWithEveryTaskAndValue) {
  const train::TrainingPlan training = trainer().plan({.batch = 8}, describe_device("cpu"));
  const Timeline timeline = timeline_of(*training.phases.front().steps.front());
  const auto json = nlohmann::json::parse(to_json(timeline));
  ASSERT_EQ(json["tasks"].size(), timeline.tasks.size());
  ASSERT_EQ(json["values"].size(), timeline.values.size());
  const auto& first = json["tasks"][0];
  EXPECT_EQ(json["names"][first[0].get<std::size_t>()], timeline.tasks[0].op);
  EXPECT_EQ(first[2], timeline.tasks[0].seconds);
}

}  // namespace
}  // namespace plimsoll::plan
