// Modules as a new user writes them: members are plain values, extents are left out, a loop has no
// ceremony.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/plimsoll.h>

#include "support/own_device.h"

namespace pm = plimsoll;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Net final : public pm::nn::Module {
 public:
  pm::Tensor forward(const pm::Tensor& x) const override { return second(pm::ops::relu(first(x))); }

 private:
  pm::nn::Dense first = add("first", pm::nn::Dense(16));
  pm::nn::Dense second = add("second", pm::nn::Dense(1));
};

/// Two inputs, two outputs.
class Pair final : public pm::nn::Module {
 public:
  pm::nn::Tensors forward_all(const pm::nn::Tensors& in) const override {
    return {left(in.at(0)), pm::ops::add(right(in.at(1)), left(in.at(0)))};
  }

 private:
  pm::nn::Dense left = add("left", pm::nn::Dense(2));
  pm::nn::Dense right = add("right", pm::nn::Dense(2));
};

class Nothing final : public pm::nn::Module {};

std::vector<std::string> names(const pm::nn::Module& module) {
  std::vector<std::string> all;
  for (const auto& p : module.parameters()) all.push_back(p.name());
  return all;
}

template <typename Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const pm::Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class Handles : public ::testing::Test {
 protected:
  pm::Tensor values(std::initializer_list<float> v, const pm::Shape& shape) {
    return pm::Tensor::from_values(v, shape, device_);
  }
  pm::Device device_ = pm::test::own_cpu({.limit = pm::MiB(32)});
};

TEST_F(Handles, ExtentsAreInferredAndNamesAreThoseOfMembers) {
  const Net net;
  EXPECT_TRUE(net.parameters().empty());
  net.build({{pm::DType::f32, {8, 3}}});
  EXPECT_THAT(names(net),
              ElementsAre("first.weight", "first.bias", "second.weight", "second.bias"));
  EXPECT_EQ(net.find("first.weight")->type().shape, pm::Shape({16, 3}));
  EXPECT_EQ(device_.arena().stats().live, 0U);  // from types alone
  EXPECT_FALSE(net.find("first.weight")->has_data());
}

TEST_F(Handles, AModuleIsNotPutIntoItself) {
  pm::nn::Sequential outer(pm::nn::Dense(2));
  EXPECT_THROW(outer.append(outer), pm::InvalidArgument);
  pm::nn::Sequential around;
  around.append(outer);
  EXPECT_THROW(outer.append(around), pm::InvalidArgument);
  EXPECT_EQ(outer.children().size(), 1U);
}

TEST_F(Handles, EveryLayerInfersWhatComesIn) {
  const pm::nn::Sequential net(pm::nn::Conv2D(4, 3, {.padding = 1}), pm::nn::BatchNorm2D(),
                               pm::nn::ReLU(), pm::nn::ConvTranspose2D(2, 2),
                               pm::nn::GlobalAvgPool2D(), pm::nn::LayerNorm(), pm::nn::RMSNorm(),
                               pm::nn::Dense(5));
  net.build({{pm::DType::f32, {2, 3, 8, 8}}});
  EXPECT_EQ(net.find("0.weight")->type().shape, pm::Shape({4, 3, 3, 3}));
  EXPECT_EQ(net.find("1.running_mean")->type().shape, pm::Shape({4}));
  EXPECT_EQ(net.find("3.weight")->type().shape, pm::Shape({4, 2, 2, 2}));
  EXPECT_EQ(net.find("5.weight")->type().shape, pm::Shape({2}));
  EXPECT_EQ(net.find("7.weight")->type().shape, pm::Shape({5, 2}));
}

TEST_F(Handles, TheFirstCallGivesValuesOnTheDeviceOfTheInput) {
  const Net net;
  const Net copy = net;
  const pm::Tensor x = values({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto y = net(x).to_vector<float>();
  EXPECT_EQ(copy.find("first.weight")->tensor().device(), device_);
  EXPECT_EQ(copy(x).to_vector<float>(), y);  // the same module

  // Values depend on the seed and the names alone, whoever asks for them.
  const Net other;
  other.build({{pm::DType::f32, {2, 3}}});
  other.materialize(device_);
  EXPECT_EQ(other(x).to_vector<float>(), y);
  pm::ops::set_seed(5);
  const Net seeded;
  EXPECT_NE(seeded(x).to_vector<float>(), y);
  pm::ops::set_seed(0);
}

TEST_F(Handles, ALoopOfOnesOwnHasNoCeremony) {
  const pm::Tensor x = values({-1, -0.5F, 0, 0.5F, 1, 1.5F}, {6, 1});
  const pm::Tensor y = values({1, 0.25F, 0, 0.25F, 1, 2.25F}, {6, 1});
  const Net net;
  auto optimizer = pm::optim::adam({.lr = 0.03});
  float first = 0;
  float last = 0;
  for (int step = 0; step < 200; ++step) {
    pm::ops::GradientTape tape;
    const pm::Tensor loss = pm::nn::mean_squared_error(net(x), y);
    optimizer.apply(tape.gradient(loss, net));
    (step == 0 ? first : last) = loss.item<float>();
  }
  EXPECT_LT(last, first / 50);
  EXPECT_EQ(optimizer.step(), 200);
}

TEST_F(Handles, VariablesNeedNoModule) {
  const pm::Variable w(values({0}, {1, 1}), {.name = "w"});
  const pm::Variable b(values({0}, {1}), {.name = "b"});
  const pm::Tensor x = values({0, 1, 2, 3}, {4, 1});
  const pm::Tensor y = values({1, 3, 5, 7}, {4, 1});
  auto optimizer = pm::optim::sgd({.lr = 0.1, .momentum = 0.5});
  for (int step = 0; step < 200; ++step) {
    pm::ops::GradientTape tape;
    const pm::Tensor loss = pm::nn::mean_squared_error(pm::ops::add(pm::ops::matmul(x, w), b), y);
    optimizer.apply(tape.gradient(loss, {w, b}));
  }
  EXPECT_NEAR(w.tensor().item<float>(), 2, 1e-3);
  EXPECT_NEAR(b.tensor().item<float>(), 1, 1e-3);
}

TEST_F(Handles, AnOptimizerTakesVariablesAsTheyCome) {
  const pm::Variable a(values({1}, {1}), {.name = "a"});
  const pm::Variable b(values({1}, {1}), {.name = "b"});
  auto optimizer = pm::optim::sgd({.lr = 1, .momentum = 0.5});
  optimizer.apply({.variables = {a}, .tensors = {values({1}, {1})}});
  optimizer.apply({.variables = {b, a}, .tensors = {values({4}, {1}), values({1}, {1})}});
  EXPECT_EQ(a.tensor().item<float>(), -1.5F);
  EXPECT_EQ(b.tensor().item<float>(), -3);
  EXPECT_THAT(message_of([&] {
                optimizer.apply({.variables = {a}, .tensors = {values({1, 2}, {2})}});
              }),
              HasSubstr("the gradient of a is f32 [2], but it is f32 [1]"));
  EXPECT_EQ(a.tensor().item<float>(), -1.5F);
  EXPECT_EQ(optimizer.step(), 2);
}

TEST_F(Handles, StateOfAnOptimizerIsAllocatedBeforeAnythingIsWritten) {
  const pm::Device small = pm::test::own_cpu({.limit = pm::MiB(8)});
  const pm::Variable a(pm::Tensor::zeros({10}, pm::DType::f32, small), {.name = "a"});
  const pm::Variable b(pm::Tensor::zeros({900'000}, pm::DType::f32, small), {.name = "b"});
  const pm::Tensor one = pm::ops::shift(a, 1);
  auto optimizer = pm::optim::adam();
  const auto apply = [&] {
    optimizer.apply({.variables = {a, b}, .tensors = {one, pm::Tensor()}});
  };
  EXPECT_THROW(apply(), pm::OutOfMemory);
  EXPECT_EQ(a.tensor().to_vector<float>(), std::vector<float>(10, 0));
  EXPECT_EQ(optimizer.step(), 0);
}

TEST_F(Handles, SeveralInputsAndOutputs) {
  const Pair pair;
  const pm::Tensor x = values({1, 2}, {1, 2});
  const pm::Tensor z = values({1, 2, 3}, {1, 3});
  const pm::nn::Tensors out = pair(pm::nn::Tensors{x, z});
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[1].shape(), pm::Shape({1, 2}));
  EXPECT_EQ(pair.find("right.weight")->type().shape, pm::Shape({2, 3}));
  EXPECT_THAT(message_of([&] { Net()(pm::nn::Tensors{x, z}); }), HasSubstr("2 inputs"));
  EXPECT_THAT(message_of([&] { Nothing()(x); }), HasSubstr("neither forward()"));
}

TEST_F(Handles, AModuleThatIsUsedTwiceIsTrainedOnce) {
  const pm::nn::Dense shared(2, {.in = 2});
  const pm::nn::Sequential net(shared, pm::nn::Tanh(), shared);
  EXPECT_THAT(names(net), ElementsAre("0.weight", "0.bias"));
  const pm::Tensor x = values({0.5F, 1}, {1, 2});
  pm::ops::GradientTape tape;
  const pm::Tensor loss = pm::ops::sum(net(x));
  const auto gradients = tape.gradient(loss, net);
  ASSERT_EQ(gradients.variables.size(), 2U);
  EXPECT_EQ(gradients.of(*net.find("0.bias")).shape(), pm::Shape({2}));
}

TEST_F(Handles, AModuleMayBePutElsewhereOnceItsParentIsGone) {
  const pm::nn::Dense layer(2, {.in = 2});
  { const pm::nn::Sequential first(pm::nn::Sequential{layer}); }
  const pm::nn::Sequential second(pm::nn::ReLU(), layer);
  EXPECT_THAT(names(second), ElementsAre("1.weight", "1.bias"));
}

TEST_F(Handles, OutOfMemoryAtTheFirstCallTakesNothing) {
  const pm::nn::Sequential net(pm::nn::Dense(100, {.in = 10}), pm::nn::Dense(200'000, {.in = 100}));
  const pm::Tensor x = pm::Tensor::zeros({1, 10}, pm::DType::f32, device_);
  const pm::Bytes before = device_.arena().stats().live;
  EXPECT_THROW(net(x), pm::OutOfMemory);
  EXPECT_EQ(device_.arena().stats().live, before);
}

}  // namespace
