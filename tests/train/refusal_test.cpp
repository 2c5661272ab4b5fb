// What a refusal to plan names, and how long it takes to say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/toy_training.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

train::Trainer trainer_of(const char* model, std::int64_t size) {
  return train::Trainer(nn::make_model(model, {.classes = 10, .size = size}),
                        optim::sgd({.lr = 0.1}));
}

plan::DeviceDescription cpu() {
  plan::DeviceDescription device = plan::describe_device("cpu");
  device.page_size = KiB(64);
  return device;
}

test::Refusal refusal_of(const train::Trainer& trainer, const train::PlanRequest& request) {
  try {
    (void)trainer.plan(request, cpu());
  } catch (const BudgetTooSmall& error) {
    const test::Refusal refusal = test::parse_refusal(error.what());
    EXPECT_EQ(error.smallest_budget(), refusal.budget);
    EXPECT_EQ(error.largest_batch(), refusal.batch);
    return refusal;
  }
  return {};
}

bool fits(const train::Trainer& trainer, train::PlanRequest request, std::int64_t batch,
          Bytes budget) {
  request.batch = batch;
  if (request.validation_batch != 0) request.validation_batch = batch;
  request.budget = budget;
  try {
    (void)trainer.plan(request, cpu());
    return true;
  } catch (const BudgetTooSmall&) {
    return false;
  }
}

struct RefusalCase {
  const char* model;
  std::int64_t size;
  std::int64_t batch;
  Bytes budget;  ///< 0: between what one element takes and what the batch does
};

/// The smallest budget that a refusal names for a batch of this size.
Bytes smallest_for(const train::Trainer& trainer, std::int64_t batch) {
  return refusal_of(trainer, {.batch = batch, .validation_batch = batch, .budget = MiB(1)}).budget;
}

class RefusedPlan : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(RefusedPlan, NamesABudgetThatDoesAndABatchThatIsTheLargest) {
  const RefusalCase& c = GetParam();
  const train::Trainer trainer = trainer_of(c.model, c.size);
  const Bytes budget =
      c.budget != 0 ? c.budget : (smallest_for(trainer, 1) + smallest_for(trainer, c.batch)) / 2;
  const train::PlanRequest request{.batch = c.batch, .validation_batch = c.batch, .budget = budget};
  const test::Refusal named = refusal_of(trainer, request);
  ASSERT_GT(named.budget, budget);
  EXPECT_TRUE(fits(trainer, request, c.batch, named.budget)) << named.budget;
  ASSERT_GT(named.batch, 0);
  EXPECT_TRUE(fits(trainer, request, named.batch, budget)) << named.batch;
  EXPECT_FALSE(fits(trainer, request, named.batch + 1, budget)) << named.batch;
}

INSTANTIATE_TEST_SUITE_P(Models, RefusedPlan,
                         // Small batches of lenet take larger workspaces than large ones.
                         ::testing::Values(RefusalCase{"lenet", 28, 512, KiB(2752)},
                                           RefusalCase{"lenet", 28, 4096, MiB(9)},
                                           RefusalCase{"mlp", 28, 100'000, MiB(6)},
                                           RefusalCase{"resnet18", 32, 64, 0}),
                         [](const auto& tested) {
                           return std::string(tested.param.model) + "_" +
                                  std::to_string(tested.param.batch);
                         });

TEST(RefusedPlan, ABatchOfABillionIsRefusedAtOnce) {
  for (const RefusalCase& c : {RefusalCase{"lenet", 28, 1'000'000'000, MiB(64)},
                               RefusalCase{"mlp", 28, 999'999'937, MiB(64)},
                               RefusalCase{"resnet18", 32, 1'000'000'000, MiB(512)}}) {
    const test::Refusal named =
        refusal_of(trainer_of(c.model, c.size), {.batch = c.batch, .budget = c.budget});
    EXPECT_GT(named.batch, 0) << c.model;
    EXPECT_GT(named.budget, GiB(1)) << c.model;
  }
}

TEST(PlanOfASpec, RefusesFeaturesThatTheModelDoesNotHave) {
  const train::Trainer trainer(nn::mlp({.in = 8, .hidden = {8}, .classes = 4}), optim::sgd({}));
  const Device device = Device::open("cpu:0", {.limit = MiB(8)});
  const auto spec = [](std::int64_t features) {
    return test::toy_data(32, features).batch(4, {.drop_remainder = true}).element_spec();
  };
  EXPECT_EQ(trainer.plan(spec(8), device).batch(), 4);
  try {
    (void)trainer.plan(spec(9), device);
    ADD_FAILURE() << "9 features for a model of 8";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("f32 [4,9]"));
    EXPECT_THAT(error.what(), HasSubstr("f32 [?,8]"));
  }
}

TEST(Evaluate, WithoutValidationInThePlanRunsOrSaysWhatToPlan) {
  const Device device = Device::open("cpu:0", {.limit = MiB(8)});
  train::Trainer trainer(nn::mlp({.in = 16, .hidden = {16}, .classes = 4}), optim::sgd({}));
  const auto plan = trainer.plan({.batch = 8}, device);
  try {
    (void)trainer.evaluate(plan, test::toy_data(4096).batch(4096));
    ADD_FAILURE() << "4096 in a plan for 8";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("the plan has no validation"));
    EXPECT_THAT(error.what(), HasSubstr("plan with validation_batch = 4096"));
  }
  const auto metrics = trainer.evaluate(plan, test::toy_data(32).batch(8));
  EXPECT_EQ(metrics.count("accuracy"), 1U);
}

TEST(PlanCurve, EveryBudgetIsAcceptedAndTimeNeverRisesWithIt) {
  const train::Trainer trainer(nn::make_model("vit_tiny", {.classes = 4, .size = 32}),
                               optim::adam({}));
  const train::PlanRequest request{
      .batch = 16, .remainders = {3}, .validation_batch = 16, .validation_remainders = {5}};
  std::vector<plan::CurvePoint> curve;
  {
    const Device device = Device::open("cpu:0", {.limit = MiB(32)});
    const Charge held = device.budget().charge(Tag::input, "data", KiB(700));
    curve = trainer.curve(request, device, 6);
  }
  ASSERT_GE(curve.size(), 3U);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(curve[i].budget, curve[i - 1].budget);
      EXPECT_GE(curve[i].seconds, curve[i - 1].seconds) << i;
    }
    EXPECT_EQ(parse_bytes(format_bytes(curve[i].budget), "budget"), curve[i].budget);
    const Device device = Device::open("cpu:0", {.limit = Limit(curve[i].budget)});
    const Charge held = device.budget().charge(Tag::input, "data", KiB(700));
    EXPECT_NO_THROW((void)trainer.plan(request, device)) << format_bytes(curve[i].budget);
  }
}

}  // namespace
}  // namespace plimsoll
