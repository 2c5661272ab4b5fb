// Fused launches give the bits that tasks give one by one.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/plan/executor.h>
#include <plimsoll/plan/planner.h>
#include <plimsoll/train/trainer.h>

#include "plan/fused_launches.h"
#include "support/on_gpu.h"
#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using FusedOnGpu = test::OnGpu;

/// h = a + b; z = h + relu(norm(h)), and what a gradient of z by h, scale and bias is.
struct Residual {
  Residual(const Shape& shape, DType dtype, DType scale_dtype, bool centered, bool keep,
           const Device& device)
      : feeds{test::random_tensor(shape, 1, dtype), test::random_tensor(shape, 2, dtype),
              test::random_tensor(shape, 3, dtype)} {
    graph::Tracer tracer;
    std::vector<Tensor> in;
    for (const char* name : {"a", "b", "dz"}) in.push_back(tracer.input(name, {dtype, shape}));
    std::vector<Tensor> parameters;
    for (unsigned i = 0; i < (centered ? 2U : 1U); ++i) {
      parameters.push_back(
          test::random_tensor({shape.dim(-1)}, 4 + i, scale_dtype).clone(device, {}));
      tracer.bind(parameters.back(), graph::Role::parameter, Tag::parameters,
                  "p" + std::to_string(i));
    }
    const ops::DispatchScope scope(tracer);
    ops::GradientTape tape;
    // Both come from ops, so that their memory is free afterwards.
    const Tensor a = ops::relu(in[0]);
    const Tensor b = ops::neg(in[1]);
    std::vector<Tensor> watched = {a};
    watched.insert(watched.end(), parameters.begin(), parameters.end());
    tape.watch(watched);
    const Tensor h = ops::add(a, b);
    const Tensor y = centered ? ops::layer_norm(h, parameters[0], parameters[1])
                              : ops::rms_norm(h, parameters[0]);
    const Tensor z = ops::add(h, ops::relu(y));
    tracer.output(z);
    if (keep) tracer.output(h);
    for (const Tensor& gradient : tape.gradient(z, watched, in[2])) tracer.output(gradient);
    auto graph = std::make_shared<graph::Graph>(tracer.finish());
    plan::Planner planner(graph, {.device = plan::describe_device(device)});
    plan = planner.largest();
    kept = parameters;
  }

  std::vector<Tensor> run(const Device& device, bool fuse) const {
    plan::Executor executor(plan, device, {.fuse = fuse});
    // The first step runs as it is, the third is a replay.
    for (int i = 0; i < 3; ++i) executor.run(feeds);
    std::vector<Tensor> host;
    for (const Tensor& t : executor.outputs()) host.push_back(t.clone(test::op_cases_device(), {}));
    return host;
  }

  std::vector<Tensor> feeds;
  std::vector<Tensor> kept;
  plan::Plan plan;
};

TEST_F(FusedOnGpu, ResidualsOfEveryRowLength) {
  std::vector<const ops::FusedPattern*> patterns;
  for (const ops::FusedPattern& pattern : ops::fused_patterns()) patterns.push_back(&pattern);
  std::size_t seen = 0;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const std::int64_t features : {8, 40, 256, 264, 512, 768, 1000, 1024, 2048, 4096, 8192}) {
      for (const std::int64_t rows : {1, 3, 197, 5000}) {
        if (rows * features > (1 << 22)) continue;
        const bool centered = (features / 8 + rows) % 2 == 0;
        const DType scale = rows == 197 ? dtype : DType::f32;
        SCOPED_TRACE(fmt::format("{} [{},{}]", dtype_name(dtype), rows, features));
        const Residual step({rows, features}, dtype, scale, centered, rows == 3, gpu());
        seen += plan::fused_launches(step.plan, patterns).size();
        const auto expected = step.run(gpu(), false);
        const auto actual = step.run(gpu(), true);
        ASSERT_EQ(actual.size(), expected.size());
        for (std::size_t i = 0; i < actual.size(); ++i) {
          EXPECT_TRUE(test::same_bits(actual[i], expected[i])) << "output " << i;
        }
      }
    }
  }
  EXPECT_GT(seen, 150U);
}

struct Kind {
  const char* name;
  optim::Optimizer (*optimizer)();
  DType precision;
};

class FusedTraining : public FusedOnGpu, public ::testing::WithParamInterface<Kind> {};

/// A step whose time is taken runs its tasks one by one.
TEST_P(FusedTraining, HasTheBitsOfTasksOneByOne) {
  const Kind& kind = GetParam();
  const auto losses = [&](bool fuse) {
    train::Trainer trainer(nn::vit({.classes = 5,
                                    .channels = 3,
                                    .size = 32,
                                    .patch = 8,
                                    .features = 128,
                                    .layers = 3,
                                    .heads = 2}),
                           kind.optimizer(), {.precision = kind.precision, .seed = 3});
    constexpr std::int64_t kBatch = 64;
    const Tensor x = test::random_tensor(trainer.model().input_type(kBatch).shape, 1, DType::f32)
                         .clone(gpu(), {});
    const Tensor y =
        test::random_indices(trainer.model().target_type(kBatch).shape, 5, 2).clone(gpu(), {});
    const auto plan = trainer.plan({.batch = kBatch}, gpu());
    std::vector<float> all;
    for (int i = 0; i < 6; ++i) {
      if (fuse) {
        trainer.step(plan, x, y);
      } else {
        (void)trainer.step_timed(plan, x, y);
      }
      all.push_back(trainer.loss());
    }
    return all;
  };
  const auto expected = losses(false);
  EXPECT_EQ(losses(true), expected);
  EXPECT_NE(expected.front(), expected.back());
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, FusedTraining,
    ::testing::Values(
        Kind{"sgd_bf16", [] { return optim::sgd({.lr = 0.02}); }, DType::bf16},
        Kind{"momentum_f16", [] { return optim::sgd({.lr = 0.02, .momentum = 0.9}); }, DType::f16},
        Kind{"adam_f32", [] { return optim::adam({.weight_decay = 0.01}); }, DType::f32},
        Kind{"adamw_bf16", [] { return optim::adamw(); }, DType::bf16},
        Kind{"rmsprop_bf16", [] { return optim::rmsprop(); }, DType::bf16},
        Kind{"rmsprop_momentum_f16", [] { return optim::rmsprop({.momentum = 0.9}); }, DType::f16}),
    [](const ::testing::TestParamInfo<Kind>& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace plimsoll
