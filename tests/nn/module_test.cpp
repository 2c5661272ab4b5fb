// What a module promises, whatever it computes.
#include <plimsoll/nn/module.h>

#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/group_norm.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/plan/run_graph.h>

#include "support/own_device.h"

namespace plimsoll::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A module of one's own, as the documentation shows it.
class Perceptron final : public Module {
 public:
  Perceptron(std::int64_t in, std::int64_t hidden, std::int64_t out)
      : first_(add("first", Dense(hidden, {.in = in}))),
        second_(add("second", Dense(out, {.in = hidden}))) {}
  Tensor forward(const Tensor& x) const override { return second_(ops::relu(first_(x))); }

 private:
  Dense first_;
  Dense second_;
};

class Bad final : public Module {
 public:
  explicit Bad(std::string_view name) { parameter(name, {1}, Init::zeros()); }
  Bad(std::string_view one, std::string_view two) : Bad(one) { add(two, Dense(1, {.in = 1})); }
  Tensor forward(const Tensor& x) const override { return x; }
};

/// Knows nothing of what comes in.
class Open final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return norm_(dense_(x)); }

 private:
  Dense dense_ = add("dense", Dense(3, {.in = 2}));
  BatchNorm2D norm_ = add("norm", BatchNorm2D());
};

/// Has a variable that was made before it, and another module's weight.
class Borrowing final : public Module {
 public:
  Borrowing(const Variable& scale, const Variable& count)
      : dense_(add("dense", Dense(3, {.in = 3}))) {
    parameter("scale", scale);
    parameter("count", count);
    share("head", dense_.weight());
  }
  Tensor forward(const Tensor& x) const override { return ops::linear(x, dense_.weight()); }

 private:
  Dense dense_;
};

std::vector<std::string> names(const Module& module) {
  std::vector<std::string> all;
  for (const Parameter& p : module.parameters()) all.push_back(p.name());
  return all;
}

std::vector<float> values(const Module& module) {
  std::vector<float> all;
  for (const Parameter& p : module.parameters()) {
    const auto some = p.tensor().to_vector<float>();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

template <typename Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class ModuleTest : public ::testing::Test {
 protected:
  Device device_ = test::own_cpu({.limit = MiB(64)});
};

TEST(Module, SaysWhichLayerDoesNotKnowItsParametersYet) {
  const Open module;
  EXPECT_FALSE(module.is_built());
  ASSERT_NE(module.first_unbuilt(), nullptr);
  EXPECT_EQ(module.first_unbuilt()->path(), "norm");
  module.build({{DType::f32, {4, 2}}});
  EXPECT_TRUE(module.is_built());
  EXPECT_TRUE(Perceptron(2, 3, 4).is_built());
  // These have none, whatever comes in.
  EXPECT_TRUE(InstanceNorm().is_built());
  EXPECT_TRUE(GroupNorm(2, {.affine = false}).is_built());
  EXPECT_FALSE(InstanceNorm({.affine = true}).is_built());
  EXPECT_FALSE(GroupNorm(2).is_built());
}

TEST_F(ModuleTest, NamesAreDottedFromTheRoot) {
  Sequential net;
  Sequential inner = net.append(Sequential());
  inner.append(Perceptron(3, 4, 2));  // after it was put into its parent
  net.append(BatchNorm2D({.channels = 2}));
  EXPECT_THAT(names(net), ElementsAre("0.0.first.weight", "0.0.first.bias", "0.0.second.weight",
                                      "0.0.second.bias", "1.weight", "1.bias"));
  ASSERT_EQ(net.buffers().size(), 2U);
  EXPECT_EQ(net.buffers()[0].name(), "1.running_mean");
  ASSERT_TRUE(net.find("0.0.second.bias"));
  EXPECT_EQ(net.find("0.0.second.bias")->type().shape, Shape({2}));
  EXPECT_FALSE(net.find("second"));
  EXPECT_EQ(net.parameter_count(), 3 * 4 + 4 + 4 * 2 + 2 + 2 + 2);
}

TEST_F(ModuleTest, PathsAreDottedFromTheRootAndChildrenHaveTheirParentsNames) {
  const Sequential inner(Dense(2), ReLU());
  const Sequential net(inner, inner, Dense(3));
  EXPECT_EQ(net.path(), "");
  EXPECT_EQ(inner.path(), "0");
  EXPECT_EQ(inner.children()[1]->path(), "0.1");
  EXPECT_THAT(net.child_names(), ElementsAre("0", "1", "2"));
  EXPECT_EQ(net.children()[1]->name(), "0") << "it keeps the first one";
}

TEST_F(ModuleTest, NamesThatAreNoneOrTwiceAreRefused) {
  EXPECT_THAT(message_of([] { Bad(""); }), HasSubstr("a name is empty"));
  EXPECT_THAT(message_of([] { Bad("a.b"); }), HasSubstr("'a.b' is not a valid name"));
  EXPECT_THAT(message_of([] { Bad("a", "a"); }), HasSubstr("there is a 'a' already"));
}

TEST_F(ModuleTest, VariablesWithValuesBelongToItAndSharedParametersCountOnce) {
  const Variable scale(Tensor::zeros({3}, DType::f32, device_), {.name = "mine"});
  const Variable count(Tensor::zeros({1}, DType::f32, device_),
                       {.name = "steps", .trainable = false});
  const Borrowing net(scale, count);
  EXPECT_THAT(names(net), ElementsAre("scale", "dense.weight", "dense.bias"));
  EXPECT_EQ(net.buffers().front().name(), "count");
  EXPECT_EQ(scale.name(), "scale");
  const Sequential root(net, Borrowing(scale, count));
  EXPECT_EQ(root.parameters().size(), 5U) << "one scale, two dense layers";
  net.materialize(device_);
  EXPECT_TRUE(*root.find("1.scale") == scale) << "named by whom it was given to last";
  net.release();
  EXPECT_THROW(net.materialize(device_), InvalidArgument) << "its values are gone";
}

TEST_F(ModuleTest, AParameterOfNoModuleIsNamedAndStartsAsItWasMade) {
  class Taking final : public Module {
   public:
    explicit Taking(const Parameter& scale) { parameter("scale", scale); }
    Tensor forward(const Tensor& x) const override { return x; }
  };
  const Parameter scale("unnamed", {DType::f64, {2}}, Init::constant(3), false);
  const Sequential net{Taking(scale)};
  EXPECT_THAT(names(net), ElementsAre("0.scale"));
  net.materialize(device_);
  EXPECT_THAT(scale.tensor().to_vector<double>(), ElementsAre(3, 3));
  net.release();
  net.materialize(device_);
}

TEST_F(ModuleTest, DeclaringTakesNoMemoryAndOpsOnWhatHasNoDataNameIt) {
  Perceptron net(1 << 20, 1 << 20, 10);  // four tebibytes
  EXPECT_EQ(device_.arena().stats().live, 0U);
  EXPECT_GT(net.bytes(), Bytes{1} << 42);
  Perceptron small(3, 4, 2);
  const Tensor x = Tensor::zeros({1, 3}, DType::f32, device_);
  EXPECT_THAT(message_of([&] { ops::linear(x, small.find("first.weight")->tensor()); }),
              HasSubstr("the parameter first."));
}

TEST(Fill, ZerosOfAnyTypeTakeNoOtherMemory) {
  const Device device = test::own_cpu({.limit = KiB(512)});
  for (const DType dtype : {DType::f32, DType::i8, DType::u8, DType::bf16, DType::i64}) {
    // Another like it has no room.
    const auto count = static_cast<std::int64_t>(KiB(384) / dtype_size(dtype));
    Tensor state = Tensor::empty({count}, dtype, device);
    std::memset(state.raw_mutable_data(), 0x55, state.nbytes());
    fill(state, Init::zeros(), "state", 0);
    const auto* const bytes = static_cast<const char*>(state.raw_data());
    EXPECT_TRUE(std::all_of(bytes, bytes + state.nbytes(), [](char byte) { return byte == 0; }))
        << dtype_name(dtype);
  }
}

TEST_F(ModuleTest, InitialValuesDependOnSeedAndNameAlone) {
  Perceptron a(30, 40, 20);
  Perceptron b(30, 40, 20);
  a.materialize(device_, 7);
  b.materialize(device_, 7);
  EXPECT_EQ(values(a), values(b));
  b.release();
  EXPECT_FALSE(b.parameters()[0].has_data());
  b.materialize(device_, 8);
  EXPECT_NE(values(a), values(b));

  // In other company, under the same name.
  Sequential net;
  net.append(Dense(40, {.in = 30}));
  net.append(Dense(40, {.in = 30}));
  net.materialize(device_, 7);
  Sequential other;
  other.append(Dense(40, {.in = 30}));
  other.materialize(device_, 7);
  EXPECT_EQ(net.find("0.weight")->tensor().to_vector<float>(),
            other.find("0.weight")->tensor().to_vector<float>());
  EXPECT_NE(net.find("0.weight")->tensor().to_vector<float>(),
            net.find("1.weight")->tensor().to_vector<float>());
}

TEST_F(ModuleTest, MaterializingAgainKeepsWhatHasData) {
  Perceptron net(3, 4, 2);
  net.materialize(device_, 1);
  const auto before = values(net);
  net.parameters()[1].release();
  net.materialize(device_, 1);
  EXPECT_EQ(values(net), before);
}

TEST_F(ModuleTest, OutOfMemoryLeavesTheModuleAsItWas) {
  Sequential net;
  net.append(Dense(100, {.in = 100}));
  net.append(Dense(10000, {.in = 10000}));  // 400 MB
  EXPECT_THROW(net.materialize(device_), Error);
  for (const Parameter& p : net.parameters()) EXPECT_FALSE(p.has_data()) << p.name();
  EXPECT_EQ(device_.arena().stats().live, 0U);
}

TEST_F(ModuleTest, MomentsOfInitialValuesAreAsSaid) {
  struct Case {
    Init init;
    double variance;
    double bound;
  };
  for (const Case& c :
       {Case{Init::uniform(0.3), 0.03, 0.3}, Case{Init::normal(2), 4, 12},
        Case{Init::truncated_normal(2), 4 * 0.7737, 4}, Case{Init::he_normal(50), 0.04, 1.2}}) {
    Tensor tensor = Tensor::empty({200000}, DType::f32, device_);
    fill(tensor, c.init, "w", 3);
    double sum = 0;
    double squares = 0;
    double largest = 0;
    for (const float v : tensor.to_vector<float>()) {
      sum += v;
      squares += static_cast<double>(v) * v;
      largest = std::max(largest, std::fabs(static_cast<double>(v)));
    }
    EXPECT_NEAR(sum / 200000, 0, 4 * std::sqrt(c.variance / 200000));
    EXPECT_NEAR(squares / 200000 / c.variance, 1, 0.03);
    EXPECT_LE(largest, c.bound * 1.0000001);
  }
}

TEST_F(ModuleTest, FrozenParametersAreNotTrained) {
  Perceptron net(3, 4, 2);
  EXPECT_EQ(net.trainable_variables().size(), 4U);
  net.find("first.weight")->set_trainable(false);
  EXPECT_EQ(net.trainable_variables().size(), 3U);
  net.freeze();
  EXPECT_TRUE(net.trainable_variables().empty());
  net.freeze(false);
  EXPECT_EQ(net.trainable_variables().size(), 4U);
}

TEST_F(ModuleTest, TrainingModeReachesEveryModule) {
  Sequential net;
  Sequential inner = net.append(Sequential());
  const Dropout dropout = inner.append(Dropout(0.5));
  EXPECT_TRUE(dropout.training());
  net.eval();
  EXPECT_FALSE(dropout.training());
  net.train();
  EXPECT_TRUE(dropout.training());
}

TEST_F(ModuleTest, DataOfAnotherTypeIsRefused) {
  Perceptron net(3, 4, 2);
  const Parameter weight = *net.find("first.weight");
  EXPECT_THAT(message_of([&] {
                weight.set_tensor(Tensor::zeros({3, 4}, DType::f32, device_));
              }),
              HasSubstr("first.weight is f32 [4,3]; f32 [3,4] cannot be its data"));
}

TEST_F(ModuleTest, ErrorsOfOpsSayWhereInTheModelTheyAre) {
  Sequential net;
  net.append(Perceptron(3, 4, 2));
  net.materialize(device_);
  const Tensor x = Tensor::zeros({1, 5}, DType::f32, device_);
  EXPECT_THAT(message_of([&] { net(x); }), HasSubstr("[linear]"));
  EXPECT_THAT(message_of([&] { net(x); }), HasSubstr(" in 0/first"));
}

TEST_F(ModuleTest, TheSameCodeRunsEagerlyAndTraced) {
  Perceptron net(3, 4, 2);
  net.materialize(device_, 5);
  const Tensor x = Tensor::from_values({1.0F, -2.0F, 3.0F, 0.5F, 0.25F, -1.0F}, {2, 3}, device_);
  const auto eager = net(x).to_vector<float>();

  graph::Tracer tracer;
  const Tensor in = tracer.input("x", x.type());
  bind(tracer, net);
  {
    const ops::DispatchScope scope(tracer);
    tracer.output(net(in));
  }
  const graph::Graph graph = tracer.finish();
  graph.verify();
  EXPECT_EQ(graph.nodes().front().scope, "first");
  EXPECT_EQ(plan::run_graph(graph, {{"x", x}}, device_)[0].to_vector<float>(), eager);
}

}  // namespace
}  // namespace plimsoll::nn
