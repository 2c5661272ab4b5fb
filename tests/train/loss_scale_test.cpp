#include <plimsoll/train/loss_scale.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/plan/run_graph.h>
#include <plimsoll/train/precision.h>
#include <plimsoll/train/step.h>

#include "support/own_device.h"

namespace plimsoll::train {
namespace {

class LossScaleTest : public ::testing::Test {
 protected:
  std::vector<Tensor> gradients(float value) {
    return {Tensor::from_values({1.0F, value}, {2}, device_), Tensor(),
            Tensor::from_values({4.0F}, {}, device_)};
  }
  Device device_ = test::own_cpu({.limit = MiB(64)});
};

TEST_F(LossScaleTest, TheScaleGrowsAfterGoodStepsAndFallsAfterBadOnes) {
  LossScale scale({.initial = 8, .interval = 2});
  scale.materialize(device_);
  EXPECT_EQ(scale.scale(), 8);
  const LossScale::Result good = scale.update(gradients(16));
  EXPECT_TRUE(good.finite.item<bool>());
  EXPECT_EQ(good.gradients[0].to_vector<float>(), (std::vector<float>{0.125F, 2}));
  EXPECT_FALSE(good.gradients[1].defined());
  EXPECT_EQ(scale.scale(), 8);
  scale.update(gradients(1));
  EXPECT_EQ(scale.scale(), 16);
  scale.update(gradients(1));
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const double before = scale.scale();
    EXPECT_FALSE(scale.update(gradients(bad)).finite.item<bool>());
    EXPECT_EQ(scale.scale(), before / 2);
  }
  scale.update(gradients(1));
  EXPECT_EQ(scale.scale(), 4);  // counting began anew
  scale.update(gradients(1));
  EXPECT_EQ(scale.scale(), 8);
}

TEST_F(LossScaleTest, BadStepsInARowLeaveAScaleThatDividesAGoodOne) {
  for (const double initial : {65536.0, 1e-9, 1e30}) {
    LossScale scale({.initial = initial});
    scale.materialize(device_);
    for (int i = 0; i < 300; ++i) scale.update(gradients(std::nanf("")));
    EXPECT_EQ(scale.scale(),
              std::min(std::ldexp(1.0, -24), static_cast<double>(static_cast<float>(initial))));
    const Tensor loss = Tensor::from_values({3.0F}, {}, device_);
    const LossScale::Result good = scale.update(std::vector<Tensor>{scale.scaled(loss)});
    EXPECT_TRUE(good.finite.item<bool>());
    EXPECT_FLOAT_EQ(good.gradients[0].item<float>(), 3.0F);
  }
}

TEST_F(LossScaleTest, OptionsThatCannotBeAreRefused) {
  EXPECT_THROW(LossScale({.initial = 0}), InvalidArgument);
  EXPECT_THROW(LossScale({.growth = 0.5}), InvalidArgument);
  EXPECT_THROW(LossScale({.backoff = 1}), InvalidArgument);
  EXPECT_THROW(LossScale({.interval = 0}), InvalidArgument);
}

TEST_F(LossScaleTest, AnOverflowingStepChangesNoParameterEagerlyAndTraced) {
  const auto make = [&] {
    auto model = nn::mlp({.in = 3, .hidden = {4}, .classes = 2});
    model.materialize(device_, 1);
    return model;
  };
  const auto values = [](const nn::Model& model) {
    std::vector<float> all;
    for (const nn::Parameter& p : model.parameters()) {
      const auto some = p.tensor().to_vector<float>();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  };
  const auto eager = make();
  const auto traced = make();
  // The first scale overflows f16's gradients; some halvings later it does not.
  const LossScaleOptions options{.initial = 1e9};
  LossScale eager_scale(options);
  LossScale traced_scale(options);
  optim::Optimizer eager_optimizer = optim::adam({.lr = 0.01});
  optim::Optimizer traced_optimizer = optim::adam({.lr = 0.01});
  eager_scale.materialize(device_);
  traced_scale.materialize(device_);
  eager_optimizer.attach(eager);
  eager_optimizer.materialize(device_);
  traced_optimizer.attach(traced);
  traced_optimizer.materialize(device_);

  Tensor x = Tensor::empty({8, 3}, DType::f32, device_);
  nn::fill(x, nn::Init::normal(1), "x", 2);
  const Tensor y = Tensor::zeros({8}, DType::i64, device_);

  graph::Tracer tracer;
  const Tensor in = tracer.input("x", x.type());
  const Tensor target = tracer.input("y", y.type());
  nn::bind(tracer, traced);
  optim::bind(tracer, traced_optimizer);
  bind(tracer, traced_scale);
  {
    const ops::DispatchScope scope(tracer);
    tracer.output(training_step(traced, traced_optimizer, in, target,
                                {.compute = f16, .loss_scale = &traced_scale}));
  }
  const graph::Graph graph = tracer.finish();
  graph.verify();

  const std::vector<float> start = values(eager);
  int skipped = 0;
  for (int i = 0; i < 30; ++i) {
    const std::vector<float> before = values(eager);
    const double scale_before = eager_scale.scale();
    eager_optimizer.begin_step();
    const float loss =
        training_step(eager, eager_optimizer, x, y, {.compute = f16, .loss_scale = &eager_scale})
            .item<float>();
    if (eager_scale.scale() < scale_before) {
      ++skipped;
      EXPECT_EQ(values(eager), before);
    }
    traced_optimizer.begin_step();
    const auto outputs = plan::run_graph(graph, {{"x", x}, {"y", y}}, device_);
    EXPECT_EQ(outputs[0].item<float>(), loss) << i;
    EXPECT_EQ(values(traced), values(eager)) << i;
  }
  EXPECT_GT(skipped, 0);
  EXPECT_LT(skipped, 30);
  EXPECT_NE(values(eager), start);
  EXPECT_EQ(eager_optimizer.state()[1].tensor().item<float>(), static_cast<float>(30 - skipped));
}

TEST(PrecisionTest, PoliciesAreRead) {
  EXPECT_EQ(Precision::parse("bf16").compute, DType::bf16);
  EXPECT_FALSE(Precision(bf16).loss_scale.has_value());
  EXPECT_TRUE(Precision(f16).loss_scale.has_value());
  EXPECT_EQ(Precision().compute, f32);
  EXPECT_FALSE(Precision().tf32);
  EXPECT_EQ(Precision::parse("tf32").compute, f32);
  EXPECT_TRUE(Precision::parse("tf32").tf32);
  EXPECT_TRUE(Precision(tf32).tf32);
  for (const char* name : {"f32", "tf32", "bf16", "f16"}) {
    EXPECT_EQ(Precision::parse(name).name(), name);
  }
  EXPECT_THROW(Precision(DType::f64), InvalidArgument);
  EXPECT_THROW(Precision::parse("int8"), InvalidArgument);
  EXPECT_THROW(Precision::parse("fp17"), InvalidArgument);
}

}  // namespace
}  // namespace plimsoll::train
