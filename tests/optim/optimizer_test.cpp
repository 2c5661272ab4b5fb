#include <plimsoll/optim/optimizer.h>

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/plan/run_graph.h>

#include "support/own_device.h"

namespace plimsoll::optim {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<float>;

/// Two parameters: weight [2,3] and bias [2].
class OptimizerTest : public ::testing::Test {
 protected:
  void SetUp() override { net_.materialize(device_, 1); }

  std::vector<Tensor> gradients(float value) {
    std::vector<Tensor> all;
    for (const Variable& p : net_.trainable_variables()) {
      all.push_back(Tensor::from_values(
          std::span<const float>(Values(static_cast<std::size_t>(p.type().elements()), value)),
          p.type().shape, device_));
    }
    return all;
  }
  Values weight() { return net_.find("weight")->tensor().to_vector<float>(); }
  Values bias() { return net_.find("bias")->tensor().to_vector<float>(); }

  Device device_ = test::own_cpu({.limit = MiB(16)});
  nn::Dense net_{2, {.in = 3}};
};

template <typename Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(OptimizerTest, StateIsSizedBeforeItIsThere) {
  struct Case {
    Optimizer optimizer;
    Bytes per_element;
  };
  std::vector<Case> cases;
  cases.push_back({sgd({.lr = 0.1}), 0});
  cases.push_back({sgd({.lr = 0.1, .momentum = 0.9}), 4});
  cases.push_back({adam(), 8});
  cases.push_back({adamw(), 8});
  cases.push_back({rmsprop(), 4});
  cases.push_back({rmsprop({.momentum = 0.5}), 8});
  for (Case& c : cases) {
    const Bytes before = device_.arena().stats().live;
    c.optimizer.attach(net_);
    EXPECT_EQ(device_.arena().stats().live, before);
    EXPECT_EQ(c.optimizer.state_bytes(), 8 * c.per_element + 8) << c.optimizer.name();
    c.optimizer.materialize(device_);
    EXPECT_GT(device_.arena().stats().live, before);
    for (const State& state : c.optimizer.state()) {
      EXPECT_EQ(state.tensor().storage()->tag(), Tag::optimizer);
    }
    c.optimizer.release();
    EXPECT_EQ(device_.arena().stats().live, before);
  }
}

TEST_F(OptimizerTest, StateIsAllocatedWholeOrNotAtAll) {
  nn::Sequential large;
  large.append(nn::Dense(10, {.in = 10}));
  large.append(nn::Dense(1500, {.in = 1500}));  // 9 MB
  large.materialize(device_);
  Optimizer optimizer = adam();
  optimizer.attach(large);
  const Bytes before = device_.arena().stats().live;
  EXPECT_THROW(optimizer.materialize(device_), Error);
  EXPECT_EQ(device_.arena().stats().live, before);
  EXPECT_TRUE(optimizer.state()[2].tensor().is_symbolic());
}

TEST_F(OptimizerTest, SgdFollowsTheGradient) {
  const Values before = weight();
  Optimizer optimizer = sgd({.lr = 0.5});
  optimizer.attach(net_);
  optimizer.materialize(device_);
  optimizer.update(gradients(2));
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_FLOAT_EQ(weight()[i], before[i] - 1);
  EXPECT_EQ(optimizer.step(), 1);
}

TEST_F(OptimizerTest, AdamsFirstStepIsTheRate) {
  const Values before = weight();
  Optimizer optimizer = adam({.lr = 0.01});
  optimizer.attach(net_);
  optimizer.materialize(device_);
  optimizer.update(gradients(1e-3F));
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(weight()[i], before[i] - 0.01, 1e-5);
  }
}

TEST_F(OptimizerTest, GroupsHaveRatesAndDecayOfTheirOwn) {
  const Values w = weight();
  const Values b = bias();
  Optimizer optimizer =
      sgd({.lr = 0.1,
           .weight_decay = 0.5,
           .groups = {no_decay_for_vectors(),
                      {.name = "weights",
                       .takes = [](const Variable& p) { return p.name() == "weight"; },
                       .rate_factor = 2}}});
  optimizer.attach(net_);
  optimizer.materialize(device_);
  optimizer.update(gradients(0));
  EXPECT_EQ(bias(), b);
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(weight()[i], w[i] * 0.9, 1e-6);
}

TEST_F(OptimizerTest, ScheduleGivesTheRateOfEachStep) {
  Optimizer optimizer = sgd({.lr = Schedule::step(1.0, 2, 0.5)});
  optimizer.attach(net_);
  optimizer.materialize(device_);
  const float start = bias()[0];
  const std::vector<float> expected = {1, 2, 2.5F, 3, 3.25F};
  for (const float moved : expected) {
    optimizer.update(gradients(1));
    EXPECT_FLOAT_EQ(bias()[0], start - moved);
  }
}

TEST_F(OptimizerTest, AStepThatIsNotEnabledWritesNothing) {
  std::vector<Optimizer> all;
  all.push_back(sgd({.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1}));
  all.push_back(adam({.weight_decay = 0.1}));
  all.push_back(adamw());
  all.push_back(rmsprop({.momentum = 0.5}));
  const Tensor no = Tensor::zeros({}, DType::boolean, device_);
  const Tensor yes = ops::logical_not(no);
  for (Optimizer& optimizer : all) {
    optimizer.attach(net_);
    optimizer.materialize(device_);
    optimizer.begin_step();
    optimizer.apply(gradients(1), yes);
    const auto snapshot = [&] {
      Values v = weight();
      for (const State& s : optimizer.state()) {
        const Values some = s.tensor().to_vector<float>();
        v.insert(v.end(), some.begin(), some.end());
      }
      return v;
    };
    const Values before = snapshot();
    optimizer.begin_step();
    optimizer.apply(gradients(std::numeric_limits<float>::infinity()), no);
    EXPECT_EQ(snapshot(), before) << optimizer.name();
    optimizer.apply(gradients(1), yes);
    EXPECT_NE(snapshot(), before) << optimizer.name();
  }
}

TEST_F(OptimizerTest, OneTraceServesAllSteps) {
  nn::Dense traced(2, {.in = 3});
  traced.materialize(device_, 1);
  Optimizer eager = adamw({.lr = Schedule::cosine(0.1, 10).warm_up(3), .weight_decay = 0.1});
  Optimizer planned = adamw({.lr = Schedule::cosine(0.1, 10).warm_up(3), .weight_decay = 0.1});
  eager.attach(net_);
  eager.materialize(device_);
  planned.attach(traced);
  planned.materialize(device_);

  graph::Tracer tracer;
  const Tensor dw = tracer.input("dw", {DType::f32, {2, 3}});
  const Tensor db = tracer.input("db", {DType::f32, {2}});
  nn::bind(tracer, traced);
  bind(tracer, planned);
  {
    const ops::DispatchScope scope(tracer);
    planned.apply(std::vector<Tensor>{dw, db});
  }
  const graph::Graph graph = tracer.finish();
  graph.verify();
  for (int i = 0; i < 6; ++i) {
    const auto g = gradients(static_cast<float>(i) - 2.2F);
    eager.update(g);
    planned.begin_step();
    plan::run_graph(graph, {{"dw", g[0]}, {"db", g[1]}}, device_);
    EXPECT_EQ(traced.find("weight")->tensor().to_vector<float>(), weight()) << i;
  }
  EXPECT_EQ(planned.state()[1].tensor().item<float>(), 6.0F);
}

TEST_F(OptimizerTest, FrozenParametersAndMissingGradientsStayAsTheyAre) {
  net_.find("bias")->set_trainable(false);
  const Values b = bias();
  const Values w = weight();
  Optimizer optimizer = sgd({.lr = 1.0});
  optimizer.attach(net_);
  optimizer.materialize(device_);
  ASSERT_EQ(optimizer.parameters().size(), 1U);
  optimizer.update(std::vector<Tensor>{Tensor()});
  EXPECT_EQ(weight(), w);
  optimizer.update(gradients(1));
  EXPECT_EQ(bias(), b);
  EXPECT_NE(weight(), w);
}

TEST_F(OptimizerTest, MistakesAreNamed) {
  Optimizer optimizer = sgd({.lr = 0.1});
  EXPECT_THAT(message_of([&] { optimizer.materialize(device_); }), HasSubstr("attach a module"));
  optimizer.attach(net_);
  EXPECT_THAT(message_of([&] { optimizer.begin_step(); }), HasSubstr("materialize it first"));
  EXPECT_THAT(message_of([&] { optimizer.attach(net_); }), HasSubstr("has variables already"));
  optimizer.materialize(device_);
  EXPECT_THAT(message_of([&] { optimizer.update(std::vector<Tensor>(1)); }),
              HasSubstr("1 gradients for 2 parameters"));
  auto wrong = gradients(1);
  wrong[1] = Tensor::zeros({3}, DType::f32, device_);
  const Values before = weight();
  EXPECT_THAT(message_of([&] { optimizer.update(wrong); }),
              HasSubstr("the gradient of bias is f32 [3], but it is f32 [2]"));
  EXPECT_EQ(weight(), before);
  net_.freeze();
  Optimizer nothing = adam();
  EXPECT_THAT(message_of([&] { nothing.attach(net_); }), HasSubstr("no parameter"));
  EXPECT_THAT(message_of([] { sgd({.nesterov = true}); }), HasSubstr("[sgd] nesterov"));
  EXPECT_THAT(message_of([] { adam({.beta1 = 1}); }), HasSubstr("[adam] beta1 is 1"));
  EXPECT_THAT(message_of([] { rmsprop({.epsilon = -1}); }), HasSubstr("epsilon is -1"));
  EXPECT_THAT(message_of([] { adamw({.lr = std::nan("")}); }), HasSubstr("learning rate"));
}

TEST(ScheduleTest, SchedulesFollowTheirFormulas) {
  EXPECT_EQ(Schedule(0.3).at(1000000), 0.3);
  const Schedule steps = Schedule::step(1, 10, 0.1);
  EXPECT_DOUBLE_EQ(steps.at(9), 1);
  EXPECT_DOUBLE_EQ(steps.at(10), 0.1);
  EXPECT_DOUBLE_EQ(steps.at(25), 0.01);
  const Schedule cosine = Schedule::cosine(2, 100, 1);
  EXPECT_DOUBLE_EQ(cosine.at(0), 2);
  EXPECT_DOUBLE_EQ(cosine.at(50), 1.5);
  EXPECT_DOUBLE_EQ(cosine.at(100), 1);
  EXPECT_DOUBLE_EQ(cosine.at(1000), 1);
  const Schedule warm = cosine.warm_up(4);
  EXPECT_DOUBLE_EQ(warm.at(0), 0.5);
  EXPECT_DOUBLE_EQ(warm.at(3), 2);
  EXPECT_DOUBLE_EQ(warm.at(4), 2);
  EXPECT_DOUBLE_EQ(warm.at(54), 1.5);
  EXPECT_EQ(warm.to_string(), "cosine from 2 to 1 over 100 steps, warmed up over 4");
  EXPECT_EQ(Schedule::custom([](std::int64_t s) { return 1.0 / (1.0 + s); }, "mine").at(3), 0.25);
  EXPECT_THROW(Schedule(-1), InvalidArgument);
  EXPECT_THROW(Schedule::step(1, 0), InvalidArgument);
  EXPECT_THROW(Schedule::custom({}, "none"), InvalidArgument);
}

}  // namespace
}  // namespace plimsoll::optim
