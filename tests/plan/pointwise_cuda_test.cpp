// Generated kernels give the bits that pointwise ops give one by one.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/pointwise.h>
#include <plimsoll/plan/executor.h>
#include <plimsoll/plan/planner.h>

#include "plan/pointwise_groups.h"
#include "support/on_gpu.h"
#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/random_pointwise.h"

namespace plimsoll {
namespace {

class PointwiseOnGpu : public test::OnGpu {
 protected:
  struct Result {
    std::vector<Tensor> outputs;
    Bytes charged = 0;
  };

  static std::vector<Tensor> run(const plan::Plan& plan, const std::vector<Tensor>& feeds,
                                 bool fuse) {
    plan::Executor executor(plan, gpu(), {.fuse = fuse});
    // The first step runs op by op, the third is a replay.
    for (int i = 0; i < 3; ++i) executor.run(feeds);
    std::vector<Tensor> host;
    for (const Tensor& t : executor.outputs()) host.push_back(t.clone(test::op_cases_device(), {}));
    return host;
  }

  static plan::Plan planned(const std::shared_ptr<const graph::Graph>& graph) {
    plan::Planner planner(graph, {.device = plan::describe_device(gpu())});
    return planner.largest();
  }
};

TEST_F(PointwiseOnGpu, RandomGraphsHaveTheBitsOfSingleOps) {
  if (gpu().info().libraries.find("no NVRTC") != std::string::npos) {
    GTEST_SKIP() << gpu().info().libraries;
  }
  std::size_t fused = 0;
  const auto shapes = std::to_array<Shape>(
      {{64, 128}, {7, 33}, {3, 5, 40}, {1000, 1001}, {16, 12, 64}, {1}, {4099}, {2, 1, 8, 6}});
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
      if (dtype == DType::f64 && seed % 6 != 0) continue;
      const Shape& shape = shapes[seed % shapes.size()];
      SCOPED_TRACE(fmt::format("seed {} {} {}", seed, dtype_name(dtype), shape.to_string()));
      const test::RandomPointwise random(seed, shape, dtype, 4 + static_cast<int>(seed % 30));
      const plan::Plan plan = planned(random.graph);
      for (const auto& tasks : plan::pointwise_groups(plan, {})) fused += tasks.count;
      const auto expected = run(plan, random.feeds, false);
      const auto actual = run(plan, random.feeds, true);
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i) {
        EXPECT_TRUE(test::same_bits(actual[i], expected[i]))
            << "output " << i << ", distance " << test::distance(actual[i], expected[i]);
      }
    }
  }
  EXPECT_GT(fused, 2000U);
}

/// A program that the device's opening has not paid for is charged, and given back with it; one
/// that does not fit is not loaded, and the step runs as before.
TEST_F(PointwiseOnGpu, WhatProgramsTakeIsCharged) {
  const auto in_use = [] { return gpu().use().bytes; };
  std::vector<std::unique_ptr<plan::Executor>> executors;
  std::vector<Tensor> expected;
  const Bytes before = in_use();
  const Bytes charged_before = gpu().budget().used();
  Bytes ranges = 0;
  for (std::uint64_t seed = 500; seed < 540; ++seed) {
    const test::RandomPointwise random(seed, {64, 64}, DType::f32, 20);
    const plan::Plan plan = planned(random.graph);
    executors.push_back(std::make_unique<plan::Executor>(plan, gpu()));
    executors.back()->run(random.feeds);
    executors.back()->run(random.feeds);
    executors.back()->wait();
    ranges += plan.range;
  }
  const Bytes taken = in_use() - before;
  const Bytes charged = gpu().budget().used() - charged_before;
  fmt::print("taken {} charged {} (ranges {})\n", format_bytes(taken), format_bytes(charged),
             format_bytes(ranges));
  // What opening paid for later covers the rest.
  EXPECT_LE(taken, charged + MiB(18));
  executors.clear();
  EXPECT_LE(gpu().budget().used(), charged_before + charged);
}

}  // namespace
}  // namespace plimsoll
