// Convolutions in the layout that is fast on a GPU: the same numbers, and few transposes.
#include <plimsoll/graph/layout.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <plimsoll/base/philox.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/group_norm.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/tf32.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/plan/run_graph.h>

namespace plimsoll {
namespace {

using graph::Graph;
using graph::Node;

Tensor random_tensor(const Shape& shape, std::uint32_t seed, const Device& device) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = Philox::unit(Philox::draw({static_cast<std::uint32_t>(i)}, {seed, 0})[0]) - 0.5F;
  }
  return Tensor::from_values(std::span<const float>(values), shape, device);
}

int count_nodes(const Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::ranges::count_if(graph.nodes(), [&](const Node& node) { return node.op->name == op; }));
}

/// All convolutions have that layout.
bool all_are(const Graph& graph, bool nhwc) {
  return std::ranges::all_of(graph.nodes(), [&](const Node& node) {
    return node.op->family != "convolution" || node.attributes.flag("nhwc") == nhwc;
  });
}

/// A forward function on pictures and parameters, its gradients by all of them as outputs.
struct Net {
  Shape input;
  std::vector<Shape> parameters;
  std::function<Tensor(const Tensor& x, const std::vector<Tensor>& p)> forward;
};

class Layouts : public ::testing::Test {
 protected:
  Graph trace(const Net& net, DType compute, bool tf32 = false) {
    parameters_.clear();
    for (std::size_t i = 0; i < net.parameters.size(); ++i) {
      parameters_.push_back(
          random_tensor(net.parameters[i], static_cast<std::uint32_t>(i + 2), cpu_));
    }
    graph::Tracer tracer;
    const Tensor x = tracer.input("x", {DType::f32, net.input});
    for (const Tensor& p : parameters_) {
      tracer.bind(p, graph::Role::parameter, Tag::parameters, "p");
    }
    const ops::DispatchScope scope(tracer);
    ops::GradientTape tape;
    std::vector<Tensor> watched = parameters_;
    watched.push_back(x);
    tape.watch(watched);
    Tensor y;
    {
      const ops::PrecisionScope precision(compute);
      const ops::Tf32Scope scope32(tf32);
      y = net.forward(x, parameters_);
    }
    tracer.output(y);
    const Tensor loss = ops::mean(ops::square(ops::cast(y, DType::f32)));
    for (const Tensor& gradient : tape.gradient(loss, watched)) tracer.output(gradient);
    return tracer.finish();
  }

  void expect_same(const Graph& graph, const Graph& other, const Shape& input, double tolerance) {
    const std::map<std::string, Tensor> feeds = {{"x", random_tensor(input, 1, cpu_)}};
    const std::vector<Tensor> a = plan::run_graph(graph, feeds, cpu_);
    const std::vector<Tensor> b = plan::run_graph(other, feeds, cpu_);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].type(), b[i].type()) << "output " << i;
      const std::vector<float> left = ops::cast(a[i], DType::f32).to_vector<float>();
      const std::vector<float> right = ops::cast(b[i], DType::f32).to_vector<float>();
      double off = 0;
      double all = 0;
      for (std::size_t e = 0; e < left.size(); ++e) {
        off += std::pow(static_cast<double>(left[e]) - right[e], 2);
        all += std::pow(static_cast<double>(left[e]), 2);
      }
      EXPECT_LE(std::sqrt(off), tolerance * std::sqrt(all) + 1e-12) << "output " << i;
      EXPECT_GT(all, 0) << "output " << i;
    }
  }

  /// The graph with fast layouts, which computes the same.
  Graph checked(const Net& net, DType compute, bool nhwc, bool tf32 = false) {
    const Graph before = trace(net, compute, tf32);
    Graph after = graph::with_fast_layouts(before);
    after.verify();
    EXPECT_TRUE(all_are(after, nhwc)) << after.to_string();
    expect_same(before, after, net.input, compute == DType::f32 ? 1e-5 : 2e-2);
    return after;
  }

  Device cpu_ = Device::open("cpu:0");
  std::vector<Tensor> parameters_;
};

/// Convolutions, pools, normalisation and a skip connection in whatever layout.
Net bottleneck(Layout layout) {
  const bool nhwc = layout == Layout::channels_last;
  return {.input = nhwc ? Shape{2, 10, 8, 8} : Shape{2, 8, 10, 8},
          .parameters = {{8, 8, 3, 3}, {8}, {8}, {8, 8, 1, 1}, {8}},
          .forward = [layout](const Tensor& x, const std::vector<Tensor>& p) {
            const ops::ConvOptions wide{.padding = ops::Padding::all(1), .layout = layout};
            const Tensor first = ops::conv2d(x, p[0], {}, wide);
            Tensor y = ops::relu(ops::batch_norm(first, p[1], p[2], 1e-5, layout).y);
            y = ops::relu(ops::add(ops::conv2d(y, p[3], p[4], {.layout = layout}), first));
            y = ops::max_pool2d(y, {.layout = layout});
            return ops::global_avg_pool2d(y, layout);
          }};
}

TEST_F(Layouts, ANetIsTransposedOnlyWhereItBeginsAndEnds) {
  const Graph graph = checked(bottleneck(Layout::channels_first), DType::bf16, true);
  // The picture on its way in, and the gradient by it on its way out.
  EXPECT_EQ(count_nodes(graph, "transpose"), 2) << graph.to_string();
}

TEST_F(Layouts, FullPrecisionGoesChannelsLast) {
  const Graph graph = checked(bottleneck(Layout::channels_first), DType::f32, true);
  EXPECT_EQ(count_nodes(graph, "transpose"), 2) << graph.to_string();
}

TEST_F(Layouts, Tf32GoesChannelsLastAsMatrixUnitsWantIt) {
  const Graph graph = checked(bottleneck(Layout::channels_first), DType::f32, true, true);
  EXPECT_EQ(count_nodes(graph, "transpose"), 2) << graph.to_string();
  const Graph last = trace(bottleneck(Layout::channels_last), DType::f32, true);
  EXPECT_EQ(graph::with_fast_layouts(last).to_string(), last.to_string());
}

TEST_F(Layouts, NormsOfGroupsFollow) {
  // As in the U-Nets of diffusion models: a norm, its activation, a convolution, and over again.
  const Net net{.input = {2, 8, 6, 10},
                .parameters = {{16, 8, 3, 3}, {16}, {16}, {16, 16, 3, 3}, {16}, {16}},
                .forward = [](const Tensor& x, const std::vector<Tensor>& p) {
                  const ops::ConvOptions same{.padding = ops::Padding::all(1)};
                  const Tensor first = ops::conv2d(x, p[0], {}, same);
                  Tensor y = ops::silu(nn::group_norm(first, 4, p[1], p[2]));
                  y = ops::conv2d(y, p[3], {}, same);
                  // InstanceNorm, of a picture that is one row.
                  const Tensor row = ops::reshape(y, Shape{2, 16, 60});
                  return ops::add(ops::reshape(nn::group_norm(row, 16, p[4], p[5]), y.shape()),
                                  first);
                }};
  const Graph graph = checked(net, DType::bf16, true);
  // The picture on its way in, the result and the gradient by the picture on their way out.
  EXPECT_EQ(count_nodes(graph, "transpose"), 3) << graph.to_string();
  EXPECT_EQ(count_nodes(graph, "group_norm"), 2);
}

TEST_F(Layouts, WhatIsFastAlreadyStaysAsItIs) {
  for (const auto& [layout, dtype] : {std::pair{Layout::channels_last, DType::f32},
                                      std::pair{Layout::channels_last, DType::bf16}}) {
    const Graph graph = trace(bottleneck(layout), dtype);
    EXPECT_EQ(graph::with_fast_layouts(graph).to_string(), graph.to_string());
  }
}

TEST_F(Layouts, ATransposeOfTheUsersVanishes) {
  const Net net{.input = {2, 8, 6, 6},
                .parameters = {{16, 8, 3, 3}, {16}, {16}, {8, 16, 1, 1}},
                .forward = [](const Tensor& x, const std::vector<Tensor>& p) {
                  // As ConvNeXt does: a norm over channels, which wants them last.
                  Tensor y = ops::conv2d(x, p[0], {}, {.padding = ops::Padding::all(1)});
                  y = ops::layer_norm(ops::transpose(y, {0, 2, 3, 1}), p[1], p[2], 1e-6);
                  y = ops::gelu(ops::transpose(y, {0, 3, 1, 2}));
                  return ops::transpose(ops::conv2d(y, p[3]), {0, 2, 3, 1});
                }};
  const Graph graph = checked(net, DType::bf16, true);
  EXPECT_EQ(count_nodes(graph, "transpose"), 2) << graph.to_string();
}

TEST_F(Layouts, ConcatSliceAndTransposedConvolutionsFollow) {
  const Net net{
      .input = {2, 4, 8, 6},
      .parameters = {{8, 4, 3, 3}, {8, 12, 2, 2}, {4, 20, 3, 3}},
      .forward = [](const Tensor& x, const std::vector<Tensor>& p) {
        const ops::ConvOptions wide{.padding = ops::Padding::all(1)};
        const Tensor y = ops::conv2d(x, p[0], {}, wide);
        const Tensor small = ops::avg_pool2d(y);
        const Tensor up =
            ops::conv2d_transpose(small, p[1], Shape{2, 12, 8, 6}, {.stride = {2, 2}});
        const Tensor both = ops::concat({y, up}, 1);
        const Tensor part = ops::pad(ops::slice(both, 2, 1, 7), {0, 0, 1, 0}, {0, 0, 1, 0});
        return ops::conv2d(ops::silu(part), p[2], {}, wide);
      }};
  const Graph graph = checked(net, DType::bf16, true);
  // The picture, the result, and the gradient by the picture.
  EXPECT_EQ(count_nodes(graph, "transpose"), 3) << graph.to_string();
}

TEST_F(Layouts, BroadcastOperandsOfFewerDimensionsAreBroughtAlong) {
  const Net net{.input = {3, 8, 5, 4},
                .parameters = {{6, 8, 3, 3}, {6, 1, 1}, {1, 6, 1, 4}, {5, 4}},
                .forward = [](const Tensor& x, const std::vector<Tensor>& p) {
                  Tensor y = ops::conv2d(x, p[0], {}, {.padding = ops::Padding::all(1)});
                  for (std::size_t i = 1; i < p.size(); ++i) {
                    y = ops::add(ops::mul(y, ops::cast(p[i], y.dtype())),
                                 ops::cast(p[i], y.dtype()));
                  }
                  return ops::mean(y, {.axes = {2}, .keep_dims = true});
                }};
  checked(net, DType::bf16, true);
}

TEST_F(Layouts, WhatDependsOnTheOrderOfElementsSeesTheUsersOrder) {
  const Net net{.input = {2, 8, 6, 6},
                .parameters = {{4, 8, 3, 3}},
                .forward = [](const Tensor& x, const std::vector<Tensor>& p) {
                  const Tensor y = ops::relu(ops::conv2d(x, p[0]));
                  return ops::slice(ops::reshape(y, Shape{2, 4 * 16}), 1, 0, 36);
                }};
  checked(net, DType::bf16, true);
}

TEST_F(Layouts, PatchesAsTokensNeedNoTransposeOfTheirOwn) {
  const Net net{.input = {2, 8, 8, 8},
                .parameters = {{16, 8, 4, 4}},
                .forward = [](const Tensor& x, const std::vector<Tensor>& p) {
                  const Tensor y = ops::conv2d(x, p[0], {}, {.stride = {4, 4}});
                  return ops::transpose(ops::reshape(y, Shape{2, 16, 4}), {0, 2, 1});
                }};
  const Graph graph = checked(net, DType::bf16, true);
  EXPECT_EQ(count_nodes(graph, "transpose"), 2) << graph.to_string();
}

TEST_F(Layouts, ParametersAreReadBeforeTheyAreUpdated) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::bf16, {2, 8, 4, 4}});
  const Tensor weight = random_tensor({8, 8, 1, 1}, 1, cpu_);
  const Tensor gate = random_tensor({1, 8, 4, 4}, 2, cpu_);
  for (const Tensor& p : {weight, gate}) {
    tracer.bind(p, graph::Role::parameter, Tag::parameters, "p");
  }
  {
    const ops::DispatchScope scope(tracer);
    const Tensor y = ops::conv2d(x, ops::cast(weight, DType::bf16));
    tracer.output(ops::mul(ops::cast(y, DType::f32), gate));
    ops::assign(gate, ops::scale(gate, 2));
  }
  const Graph graph = graph::with_fast_layouts(tracer.finish());
  graph.verify();
  EXPECT_GE(count_nodes(graph, "transpose"), 2) << graph.to_string();
  for (const Node& node : graph.nodes()) {
    if (node.op->writes == 0) continue;
    // The copy of the gate in another order is among those that come first.
    EXPECT_TRUE(std::ranges::any_of(node.after, [&](graph::NodeId before) {
      return graph.node(before).op->name == "transpose";
    })) << graph.to_string();
  }
}

TEST_F(Layouts, WholeModelsComeOutChannelsLast) {
  for (const char* name : {"resnet18", "unet", "lenet"}) {
    const auto model = nn::make_model(name, {});
    graph::Tracer tracer;
    const Tensor x = tracer.input("x", model.input_type(2));
    const Tensor labels = tracer.input("y", model.target_type(2));
    {
      const ops::DispatchScope scope(tracer);
      std::vector<Tensor> parameters;
      for (const nn::Parameter& p : model.parameters()) parameters.push_back(p.value());
      ops::GradientTape tape;
      tape.watch(parameters);
      Tensor loss;
      {
        const ops::PrecisionScope precision(DType::bf16);
        loss = model.loss(x, labels);
      }
      tracer.output(loss);
      for (const Tensor& g : tape.gradient(loss, parameters)) tracer.output(g);
    }
    const Graph before = tracer.finish();
    const Graph after = graph::with_fast_layouts(before);
    after.verify();
    EXPECT_TRUE(all_are(after, true)) << name;
    // The picture; LeNet's rows of features, there and back. unet's own transposes are gone.
    EXPECT_LE(count_nodes(after, "transpose"), name == std::string("lenet") ? 3 : 1)
        << name << "\n"
        << after.to_string();
  }
}

}  // namespace
}  // namespace plimsoll
