// The thinnest path from end to end: a perceptron traced, differentiated, run and trained.
#include <gtest/gtest.h>

#include <plimsoll/base/philox.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/plan/run_graph.h>

#include "support/own_device.h"

namespace plimsoll {
namespace {

Tensor random_tensor(const Shape& shape, std::uint32_t seed, const Device& device) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = Philox::unit(Philox::draw({static_cast<std::uint32_t>(i)}, {seed, 0})[0]) - 0.5F;
  }
  return Tensor::from_values(std::span<const float>(values), shape, device);
}

struct Perceptron {
  explicit Perceptron(const Device& device)
      : parameters{random_tensor({6, 16}, 1, device), random_tensor({16}, 2, device),
                   random_tensor({16, 3}, 3, device), random_tensor({3}, 4, device)} {}

  Tensor loss(const Tensor& x, const Tensor& y) const {
    const Tensor hidden = ops::relu(ops::add(ops::matmul(x, parameters[0]), parameters[1]));
    const Tensor out = ops::add(ops::matmul(hidden, parameters[2]), parameters[3]);
    return ops::mean(ops::square(ops::sub(ops::cast(out, DType::f32), y)));
  }

  /// One step of gradient descent; model code that does not know how it is run.
  Tensor step(const Tensor& x, const Tensor& y) const {
    ops::GradientTape tape;
    tape.watch(parameters);
    const Tensor result = loss(x, y);
    const std::vector<Tensor> gradients = tape.gradient(result, parameters);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      ops::assign(parameters[i], ops::sub(parameters[i], ops::scale(gradients[i], 0.1)));
    }
    return result;
  }

  graph::Graph trace(const Shape& x, const Shape& y) const {
    graph::Tracer tracer;
    const Tensor in = tracer.input("x", {DType::f32, x});
    const Tensor target = tracer.input("y", {DType::f32, y});
    for (const Tensor& p : parameters) {
      tracer.bind(p, graph::Role::parameter, Tag::parameters, "p");
    }
    const ops::DispatchScope scope(tracer);
    tracer.output(step(in, target));
    return tracer.finish();
  }

  std::vector<float> bits() const {
    std::vector<float> all;
    for (const Tensor& p : parameters) {
      const auto values = p.to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  std::vector<Tensor> parameters;
};

class Spine : public ::testing::Test {
 protected:
  Device device_ = test::own_cpu({.limit = MiB(64)});
  Tensor x_ = random_tensor({8, 6}, 10, device_);
  Tensor y_ = random_tensor({8, 3}, 11, device_);
};

TEST(Trace, AViewIsAConstantAsDenseAsAny) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  const Tensor table = random_tensor({5, 9}, 8, device);
  const std::vector<Tensor> views = {table.transpose(0, 1), table.slice(1, 2, 7).transpose(0, 1),
                                     table.slice(0, 1, 4)};
  for (const Tensor& view : views) {
    graph::Tracer tracer;
    const Tensor x = tracer.input("x", view.type());
    {
      const ops::DispatchScope scope(tracer);
      tracer.output(ops::add(x, view));
    }
    const Tensor fed = random_tensor(view.shape(), 9, device);
    const Tensor expected = ops::add(fed, view);
    const auto results = plan::run_graph(tracer.finish(), {{"x", fed}}, device);
    EXPECT_EQ(results.front().to_vector<float>(), expected.to_vector<float>());
  }
}

TEST_F(Spine, EagerTrainingLearns) {
  const Perceptron model(device_);
  const float before = model.step(x_, y_).item<float>();
  float after = before;
  for (int i = 0; i < 200; ++i) after = model.step(x_, y_).item<float>();
  EXPECT_LT(after, before / 20);
}

TEST_F(Spine, ATracedStepEqualsTheEagerOne) {
  const Perceptron eager(device_);
  const Perceptron planned(device_);
  const graph::Graph graph = planned.trace(x_.shape(), y_.shape());
  graph.verify();
  for (int i = 0; i < 5; ++i) {
    const float loss = eager.step(x_, y_).item<float>();
    const auto outputs = plan::run_graph(graph, {{"x", x_}, {"y", y_}}, device_);
    EXPECT_EQ(outputs.at(0).item<float>(), loss) << "step " << i;
  }
  EXPECT_EQ(eager.bits(), planned.bits());
}

TEST_F(Spine, AnyOrderGivesTheSameBitsInBf16) {
  std::vector<float> first;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Perceptron model(device_);
    const ops::PrecisionScope precision(DType::bf16);
    const graph::Graph graph = model.trace(x_.shape(), y_.shape());
    graph.verify();
    plan::RunOptions options{.order = plan::random_order(graph, seed)};
    for (int i = 0; i < 3; ++i) plan::run_graph(graph, {{"x", x_}, {"y", y_}}, device_, options);
    if (seed == 0) first = model.bits();
    EXPECT_EQ(model.bits(), first) << "seed " << seed;
  }
}

TEST_F(Spine, TracingTakesNoMemory) {
  const Perceptron model(device_);
  const Bytes before = device_.arena().stats().bytes_allocated;
  model.trace(x_.shape(), y_.shape());
  EXPECT_EQ(device_.arena().stats().bytes_allocated, before);
}

TEST_F(Spine, ReadingATracedTensorNamesTheOp) {
  graph::Tracer tracer;
  const Tensor in = tracer.input("x", {DType::f32, {2, 2}});
  const ops::DispatchScope scope(tracer);
  const Tensor product = ops::matmul(in, in);
  try {
    (void)product.to_vector<float>();
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("matmul"), std::string::npos) << error.what();
  }
}

TEST_F(Spine, AViewOfAFollowedTensorCarriesTheGradient) {
  const Tensor w = random_tensor({4, 4}, 5, device_);
  ops::GradientTape tape;
  tape.watch(w);
  const Tensor loss = ops::sum(ops::mul(w.reshape({16}), w.reshape({16})));
  const Tensor gradient = tape.gradient(loss, w);
  ASSERT_TRUE(gradient.defined());
  const std::vector<float> values = w.to_vector<float>();
  const std::vector<float> found = gradient.to_vector<float>();
  ASSERT_EQ(found.size(), values.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_FLOAT_EQ(found[i], 2 * values[i]);
}

TEST_F(Spine, StepsLeaveNothingBehind) {
  const Perceptron model(device_);
  model.step(x_, y_);
  const Bytes before = device_.arena().stats().live;
  for (int i = 0; i < 100; ++i) model.step(x_, y_);
  EXPECT_EQ(device_.arena().stats().live, before);
}

}  // namespace
}  // namespace plimsoll
