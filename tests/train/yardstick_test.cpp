// What keeping everything would take is never less than what a plan takes that keeps everything,
// nor than one that saves.

#include <gtest/gtest.h>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

namespace plimsoll {
namespace {

struct YardstickCase {
  const char* name;
  const char* model;
  nn::ModelOptions options;
  const char* device;
  const char* precision;
  train::PlanRequest request;
};

class Yardstick : public ::testing::TestWithParam<YardstickCase> {
 protected:
  static train::TrainingPlan plan(train::PlanRequest request, std::int64_t accumulate = 1) {
    const YardstickCase& c = GetParam();
    return train::Trainer(
               nn::make_model(c.model, c.options), optim::adamw(),
               {.precision = train::Precision::parse(c.precision), .accumulate = accumulate})
        .plan(request, plan::describe_device(c.device));
  }
};

TEST_P(Yardstick, IsNoLessThanAnyPlan) {
  train::PlanRequest request = GetParam().request;
  const train::TrainingPlan all = plan(request);
  EXPECT_TRUE(all.phases.front().steps.front()->measures.empty()) << all.explain();
  EXPECT_GE(all.unconstrained_peak, all.planned_peak()) << all.explain();
  EXPECT_GT(all.unconstrained_peak, all.unconstrained_kept);
  // It is about the training, not about the budget.
  request.budget = all.total() - all.range / 8;
  const train::TrainingPlan less = plan(request);
  EXPECT_LE(less.total(), request.budget);
  EXPECT_EQ(less.unconstrained_peak, all.unconstrained_peak) << less.explain();
  EXPECT_GE(less.unconstrained_peak, less.planned_peak());
}

INSTANTIATE_TEST_SUITE_P(
    Models, Yardstick,
    ::testing::Values(
        // The gradient of one attention needs more than a GiB of workspace.
        YardstickCase{"LongAttention", "gpt2", {.size = 8192}, "h200", "bf16", {.batch = 1}},
        YardstickCase{
            "Text", "gpt2_tiny", {}, "h200", "bf16", {.batch = 16, .validation_batch = 16}},
        YardstickCase{
            "Pictures", "resnet18", {.classes = 10, .size = 32}, "cpu", "f32", {.batch = 16}},
        YardstickCase{"Segments", "unet", {.size = 64}, "cpu", "f32", {.batch = 4}},
        // Validation is what takes the most.
        YardstickCase{
            "Validation", "mlp", {}, "cpu", "f32", {.batch = 8, .validation_batch = 4096}}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace plimsoll
