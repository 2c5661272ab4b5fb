// Time against memory, from everything kept down to the least there is: how steep it is.

#include <gtest/gtest.h>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "plan/launches.h"

namespace plimsoll {
namespace {

struct CurveCase {
  const char* model;
  const char* precision;
  const char* device;
  std::int64_t batch;
  double least;  ///< of the memory that the fastest takes, the least that is enough
  double most;   ///< times the fastest as its ops take one by one, before the least memory
  double last;   ///< and there
};

class Curve : public ::testing::TestWithParam<CurveCase> {};

TEST_P(Curve, LessMemoryCostsLittleTime) {
  const CurveCase& c = GetParam();
  const train::Trainer trainer(nn::make_model(c.model, {}), optim::adamw(),
                               {.precision = train::Precision::parse(c.precision)});
  const plan::DeviceDescription device = plan::describe_device(c.device);
  const auto curve = trainer.curve({.batch = c.batch}, device, 8);
  const plan::CurvePoint fastest = curve.front();
  // Launches that stand for several ops make every point faster by about the same time, which is no
  // reason to lose less.
  double one_by_one = fastest.seconds;
  const auto plan = trainer.plan({.batch = c.batch}, device);
  for (const plan::LaunchCost& launch : plan::launch_costs(*plan.phases.front().steps.front())) {
    one_by_one += launch.apart_seconds - launch.seconds;
  }
  const plan::CurvePoint least = curve.back();
  EXPECT_LE(static_cast<double>(least.budget), c.least * static_cast<double>(fastest.budget));
  for (std::size_t i = 1; i < curve.size(); ++i) {
    // What fits less memory fits more.
    EXPECT_LE(curve[i - 1].seconds, curve[i].seconds * 1.02) << i;
    const double most = i + 1 == curve.size() ? c.last : c.most;
    EXPECT_LE(curve[i].seconds - fastest.seconds, (most - 1) * one_by_one) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Curve,
    ::testing::Values(CurveCase{"vit_b16", "bf16", "h200", 128, 0.30, 1.35, 1.35},
                      CurveCase{"gpt2", "bf16", "h200", 16, 0.40, 1.35, 1.35},
                      // Next to nothing is lost down to a third of the memory.
                      // At the very least every product of the forward pass is
                      // computed again, in full f32, in which a GPU has a
                      // twentieth of bf16's rate: nothing else hides it.
                      CurveCase{"gpt2", "f32", "h200", 16, 0.40, 1.15, 1.45},
                      CurveCase{"gpt2", "tf32", "h200", 16, 0.40, 1.40, 1.40},
                      CurveCase{"resnet50", "bf16", "h200", 256, 0.40, 1.45, 1.45}),
    [](const auto& tested) {
      return std::string(tested.param.model) + "_" + tested.param.precision;
    });

}  // namespace
}  // namespace plimsoll
