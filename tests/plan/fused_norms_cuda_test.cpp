// Batch normalisation fused with what is around it gives the bits of the ops one by one.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/graph/fused_norms.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/plan/executor.h>
#include <plimsoll/plan/planner.h>

#include "support/on_gpu.h"
#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

class FusedNormsOnGpu : public test::OnGpu {
 protected:
  /// u = relu(norm(x)), z = relu(norm(-x) + u), both read twice, and all gradients.
  static graph::Graph trace(const Shape& shape, DType dtype, Layout layout,
                            std::vector<Tensor>& parameters) {
    const std::int64_t channels = layout == Layout::channels_last ? shape.dim(-1) : shape[1];
    graph::Tracer tracer;
    const Tensor x = tracer.input("x", {dtype, shape});
    const Tensor dz = tracer.input("dz", {dtype, shape});
    parameters.clear();
    for (std::uint64_t i = 0; i < 4; ++i) {
      parameters.push_back(test::random_tensor({channels}, 4 + i).clone(gpu(), {}));
      tracer.bind(parameters.back(), graph::Role::parameter, Tag::parameters,
                  "p" + std::to_string(i));
    }
    const ops::DispatchScope scope(tracer);
    ops::GradientTape tape;
    std::vector<Tensor> watched = parameters;
    watched.push_back(x);
    tape.watch(watched);
    const Tensor first = ops::batch_norm(x, parameters[0], parameters[1], 1e-5, layout).y;
    const Tensor u = ops::relu(first);
    const Tensor second =
        ops::batch_norm(ops::neg(x), parameters[2], parameters[3], 1e-5, layout).y;
    const Tensor z = ops::relu(ops::add(second, u));
    const Tensor out = ops::add(ops::mul(z, u), ops::sigmoid(z));
    tracer.output(out);
    for (const Tensor& g : tape.gradient(out, watched, dz)) tracer.output(g);
    return tracer.finish();
  }

  static std::vector<Tensor> run(const graph::Graph& graph, const std::vector<Tensor>& feeds) {
    plan::Planner planner(std::make_shared<graph::Graph>(graph),
                          {.device = plan::describe_device(gpu())});
    plan::Executor executor(planner.largest(), gpu(), {});
    for (int i = 0; i < 3; ++i) executor.run(feeds);
    std::vector<Tensor> host;
    for (const Tensor& t : executor.outputs()) host.push_back(t.clone(test::op_cases_device(), {}));
    return host;
  }
};

TEST_F(FusedNormsOnGpu, HaveTheBitsOfOpsOneByOne) {
  const std::vector<std::pair<Shape, Layout>> shapes = {
      {{4, 28, 28, 64}, Layout::channels_last},   {{3, 7, 7, 2048}, Layout::channels_last},
      {{8, 56, 56, 256}, Layout::channels_last},  {{2, 5, 3, 33}, Layout::channels_last},
      {{1, 1, 2, 8}, Layout::channels_last},      {{6, 5, 9, 11}, Layout::channels_first},
      {{2, 112, 112, 64}, Layout::channels_last}, {{1000, 40}, Layout::channels_last}};
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [shape, layout] : shapes) {
      SCOPED_TRACE(fmt::format("{} {}", dtype_name(dtype), shape.to_string()));
      std::vector<Tensor> parameters;
      const graph::Graph before = trace(shape, dtype, layout, parameters);
      const graph::Graph after = graph::with_fused_norms(before);
      EXPECT_LT(after.nodes().size(), before.nodes().size());
      const std::vector<Tensor> feeds = {test::random_tensor(shape, 1, dtype),
                                         test::random_tensor(shape, 2, dtype)};
      const auto expected = run(before, feeds);
      const auto actual = run(after, feeds);
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i) {
        EXPECT_TRUE(test::same_bits(actual[i], expected[i])) << "output " << i;
      }
    }
  }
}

/// Mean and variance of channels that lie far from zero, or have one value far from the others.
TEST_F(FusedNormsOnGpu, StatisticsKeepTheirDigits) {
  constexpr std::int64_t kRows = 40000;
  constexpr std::int64_t kChannels = 16;
  std::vector<double> x(static_cast<std::size_t>(kRows * kChannels));
  const Tensor noise = test::random_tensor({kRows, kChannels}, 3);
  const std::vector<double> draws = test::as_doubles(noise);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t channel = i % kChannels;
    x[i] = channel < 8 ? 1000.0 + 0.1 * draws[i] : draws[i];
    if (channel >= 12 && i < kChannels) x[i] = 300;
  }
  const Tensor host = test::from_doubles(x, {kRows, kChannels}, DType::f32);
  const ops::OpDef& op = *ops::find_op("batch_norm_statistics");
  const ops::Attributes attributes = {{"channels_last", true}};
  const auto wide = ops::call(
      op, std::vector<Tensor>{test::from_doubles(test::as_doubles(host), host.shape(), DType::f64)},
      attributes);
  const auto found = ops::call(op, std::vector<Tensor>{host.clone(gpu(), {})}, attributes);
  const std::vector<double> mean = test::as_doubles(found[0].clone(test::op_cases_device(), {}));
  const std::vector<double> variance =
      test::as_doubles(found[1].clone(test::op_cases_device(), {}));
  const std::vector<double> true_mean = test::as_doubles(wide[0]);
  const std::vector<double> true_variance = test::as_doubles(wide[1]);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    EXPECT_NEAR(mean[c], true_mean[c], 2e-7 * std::abs(true_mean[c]) + 1e-6) << c;
    EXPECT_NEAR(variance[c] / true_variance[c], 1, c < 8 ? 1e-3 : 2e-5) << c;
  }
}

}  // namespace
}  // namespace plimsoll
