// What pm::function promises.
#include <plimsoll/function/function.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/create.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/optim/optimizer.h>

#include "support/own_device.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class FunctionTest : public ::testing::Test {
 protected:
  Tensor values(const Nested& list) { return tensor(list, {.device = device_}); }

  Device device_ = test::own_cpu({.limit = MiB(64)});
};

TEST_F(FunctionTest, ItIsTracedOnceForEachSignature) {
  int calls = 0;
  const auto twice = function([&calls](const Tensor& x) {
    ++calls;
    return ops::scale(x, 2);
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(twice(values({1, 2})).to_vector<float>(), ElementsAre(2, 4));
    EXPECT_THAT(twice(values({5})).to_vector<float>(), ElementsAre(10));
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(twice.signatures(), 2U);
}

TEST_F(FunctionTest, ResultsAreTheCallers) {
  const auto next = function([](const Tensor& x) { return ops::shift(x, 1); }, {.name = "next"});
  const Tensor first = next(values({1}));
  const Tensor second = next(values({5}));
  EXPECT_EQ(first.item<float>(), 2);  // the second call wrote elsewhere
  EXPECT_EQ(second.item<float>(), 6);
  EXPECT_EQ(first.storage()->tag(), Tag::user);
  EXPECT_EQ(first.storage()->label(), "next");
}

TEST_F(FunctionTest, ListsPairsAndNothingAreReturnedAsTheyAre) {
  const Tensor x = values({1, 2});
  const auto pair = function(
      [](const Tensor& a, const Tensor& b) { return std::pair(ops::add(a, b), ops::mul(a, b)); });
  const auto [sum, product] = pair(x, x);
  EXPECT_THAT(sum.to_vector<float>(), ElementsAre(2, 4));
  EXPECT_THAT(product.to_vector<float>(), ElementsAre(1, 4));
  const auto list = function([](const Tensor& a) { return std::vector<Tensor>{a, ops::neg(a)}; });
  ASSERT_EQ(list(x).size(), 2U);
  EXPECT_THAT(list(x)[0].to_vector<float>(), ElementsAre(1, 2));
  const Variable count(values({0}), {.name = "count", .trainable = false});
  const auto bump = function([&] { count.assign(ops::shift(count, 1)); }, {.device = device_});
  bump();
  bump();
  EXPECT_EQ(count.tensor().item<float>(), 2);
}

TEST_F(FunctionTest, AStepOfTrainingHasTheBitsOfTheEagerOne) {
  const auto make = [] {
    return nn::Sequential(nn::Dense(16), nn::Tanh(), nn::Dropout(0.25), nn::Dense(1));
  };
  const Tensor x = random_normal({32, 3}, 0, 1, {.device = device_});
  const Tensor y = random_normal({32, 1}, 0, 1, {.device = device_});
  const auto train = [&](const nn::Sequential& net, optim::Optimizer& optimizer) {
    return [&net, &optimizer](const Tensor& in, const Tensor& target) {
      ops::GradientTape tape;
      const Tensor loss = nn::mean_squared_error(net(in), target);
      optimizer.apply(tape.gradient(loss, net));
      return loss;
    };
  };
  const nn::Sequential eager = make();
  const nn::Sequential planned = make();
  auto rate = optim::Schedule::cosine(0.05, 20).warm_up(3);
  auto eager_optimizer = optim::adamw({.lr = rate});
  auto planned_optimizer = optim::adamw({.lr = rate});
  const auto eager_step = train(eager, eager_optimizer);
  const auto step = function(train(planned, planned_optimizer), {.seed = 7});
  for (std::uint64_t i = 0; i < 10; ++i) {
    const ops::RandomScope random({.seed = 7, .step = i});
    EXPECT_EQ(step(x, y).item<float>(), eager_step(x, y).item<float>()) << i;
  }
  EXPECT_EQ(planned.find("3.weight")->tensor().to_vector<float>(),
            eager.find("3.weight")->tensor().to_vector<float>());
  EXPECT_EQ(step.traces(), 1);
  EXPECT_EQ(planned_optimizer.step(), 10);
}

TEST_F(FunctionTest, VariablesThatWereReplacedAreFollowed) {
  const Variable w(values({2}), {.name = "w"});
  const auto times = function([&](const Tensor& x) { return ops::mul(x, w); });
  EXPECT_EQ(times(values({3})).item<float>(), 6);
  w.set_tensor(values({5}));
  EXPECT_EQ(times(values({3})).item<float>(), 15);
  w.assign(values({7}));
  EXPECT_EQ(times(values({3})).item<float>(), 21);
  EXPECT_EQ(times.traces(), 1);
}

TEST_F(FunctionTest, FunctionsOfADeviceShareOneRange) {
  const auto wide = [](const Tensor& x) {
    return ops::sum(ops::square(ops::exp(ops::matmul(x, x))));
  };
  const auto one = function(wide);
  const auto two = function([&](const Tensor& x) { return ops::neg(wide(x)); });
  const Tensor x = zeros({512, 512}, {.device = device_});
  one(x);
  const Bytes with_one = device_.arena().stats().live;
  two(x);
  EXPECT_LT(device_.arena().stats().live - with_one, KiB(64));
  EXPECT_EQ(one(x).item<float>(), 512 * 512);  // it goes on where the range is now
}

TEST_F(FunctionTest, ACallAllocatesNothingButItsResults) {
  const auto f = function([](const Tensor& x) { return ops::sum(ops::exp(ops::scale(x, 0.5))); });
  const Tensor x = zeros({1000}, {.device = device_});
  f(x);
  const Bytes before = device_.arena().stats().live;
  for (int i = 0; i < 5; ++i) f(x);
  EXPECT_EQ(device_.arena().stats().live, before);
}

TEST_F(FunctionTest, HoldersThatCanGiveMemoryBackAreAskedBeforeACallIsRefused) {
  const Device device = test::own_cpu({.limit = MiB(8)});
  Tensor held = zeros({4, 1024, 256}, {.device = device});  // 4 MiB
  const ReliefHandle relief =
      device.budget().on_relief(ReliefOrder::prefetch, "ahead", [&](Bytes) -> Bytes {
        const Bytes bytes = held.defined() ? held.nbytes() : 0;
        held = Tensor();
        return bytes;
      });
  const Tensor x = zeros({512, 512}, {.device = device});
  const auto f = function(
      [](const Tensor& a) { return ops::matmul(ops::softmax(ops::matmul(a, a)), ops::exp(a)); });
  EXPECT_NO_THROW(f(x));
  EXPECT_FALSE(held.defined());
}

TEST_F(FunctionTest, WhatDoesNotFitIsRefusedWithTheLimitThatDoes) {
  const auto f = function(
      [](const Tensor& x) {
        const Tensor y = ops::exp(x);
        return ops::sum(ops::mul(y, ops::softmax(ops::matmul(y, y))));
      },
      {.name = "attention"});
  const auto bytes_of = [&](const std::string& message) {
    const std::string key = "smallest limit that fits: ";
    return parse_bytes(message.substr(message.find(key) + key.size()));
  };
  std::string message;
  {
    const Device small = test::own_cpu({.limit = MiB(12)});
    const Tensor x = zeros({1024, 1024}, {.device = small});
    message = message_of([&] { f(x); });
    EXPECT_THAT(message, HasSubstr("[attention] a call with (f32 [1024,1024]) takes at least"));
    EXPECT_THAT(message, HasSubstr("never split"));
    const Tensor fits = zeros({256, 256}, {.device = small});
    EXPECT_NO_THROW(f(fits));
  }
  const Device enough = test::own_cpu({.limit = bytes_of(message)});
  const Tensor x = zeros({1024, 1024}, {.device = enough});
  EXPECT_NO_THROW(f(x));
}

TEST_F(FunctionTest, SignaturesAreBoundAndANewOneSaysWhatMadeIt) {
  const auto f = function([](const Tensor& x) { return ops::scale(x, 3); },
                          {.name = "scaled", .signatures = 3});
  ::testing::internal::CaptureStderr();
  for (std::int64_t n = 1; n <= 5; ++n) f(zeros({n, 2}, {.device = device_}));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log,
              HasSubstr("[scaled] traced again (trace 3): input 0 is f32 [3,2], before f32 [2,2]"));
  EXPECT_THAT(log, HasSubstr("not used for longest was dropped"));
  EXPECT_EQ(f.signatures(), 3U);
  f(zeros({1, 2}, {.device = device_}));  // was dropped
  EXPECT_EQ(f.traces(), 6);
  f(zeros({5, 2}, {.device = device_}));  // was not
  EXPECT_EQ(f.traces(), 6);
}

TEST_F(FunctionTest, APlanTellsWhatACallTakesAndWhichTensorsAreConstants) {
  const Tensor table = Tensor::zeros({1000}, DType::f32, device_, {.label = "table"});
  const auto f = function([&](const Tensor& x) { return ops::sum(ops::mul(x, table)); });
  const Tensor x = zeros({1000}, {.device = device_});
  const Bytes before = device_.arena().stats().live;
  const plan::Plan& plan = f.plan(x);
  EXPECT_EQ(device_.arena().stats().live, before);
  EXPECT_GT(plan.range, 0U);
  EXPECT_THAT(plan.explain(), HasSubstr("constant table, f32 [1000]: 3.9 KiB"));
}

TEST_F(FunctionTest, WithinAnotherItBecomesPartOfIt) {
  const auto inner = function([](const Tensor& x) { return ops::scale(x, 2); });
  const auto outer = function([&](const Tensor& x) { return ops::shift(inner(x), 1); });
  EXPECT_THAT(outer(values({1, 2})).to_vector<float>(), ElementsAre(3, 5));
  EXPECT_EQ(inner.traces(), 0);
}

TEST_F(FunctionTest, ATapeThatWouldLoseAGradientIsToldSo) {
  const auto f = function([](const Tensor& x) { return ops::square(x); });
  const Tensor x = values({3});
  ops::GradientTape tape;
  tape.watch(x);
  EXPECT_THAT(message_of([&] { f(x); }), HasSubstr("take the gradient within it"));
}

}  // namespace
}  // namespace plimsoll
