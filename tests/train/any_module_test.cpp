// Trainers of any module, fed by datasets, as a new user writes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/plimsoll.h>

#include "support/own_device.h"

namespace pm = plimsoll;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Which of two squares a point lies in; nothing is told of what comes in.
class Net final : public pm::nn::Module {
 public:
  explicit Net(std::int64_t out = 2) : second(add("second", pm::nn::Dense(out))) {}
  pm::Tensor forward(const pm::Tensor& x) const override { return second(pm::tanh(first(x))); }

 private:
  pm::nn::Dense first = add("first", pm::nn::Dense(16));
  pm::nn::Dense second;
};

/// Two inputs.
class Sum final : public pm::nn::Module {
 public:
  pm::nn::Tensors forward_all(const pm::nn::Tensors& in) const override {
    return {pm::add(left(in.at(0)), right(in.at(1)))};
  }

 private:
  pm::nn::Dense left = add("left", pm::nn::Dense(1));
  pm::nn::Dense right = add("right", pm::nn::Dense(1));
};

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const pm::Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class AnyModule : public ::testing::Test {
 protected:
  /// Points in the plane, with label 1 where x0 * x1 > 0.
  pm::Dataset points(std::int64_t count, std::uint64_t seed = 1) const {
    const pm::ops::RandomScope random({.seed = seed});
    const pm::Tensor x = pm::random_uniform({count, 2}, -1, 1, {.device = device_});
    std::vector<std::int64_t> labels;
    const auto values = x.to_vector<float>();
    for (std::size_t i = 0; i < values.size(); i += 2) {
      labels.push_back(values[i] * values[i + 1] > 0 ? 1 : 0);
    }
    const pm::Tensor y =
        pm::Tensor::from_values(std::span<const std::int64_t>(labels), {count}, device_);
    return pm::Dataset::from_tensor_slices({x, y}, {"point", "label"});
  }
  pm::TrainerOptions options() const {
    return {.loss = "cross_entropy",
            .optimizer = pm::optim::adam({.lr = 0.02}),
            .metrics = {"accuracy"},
            .device = device_};
  }

  pm::Device device_ = pm::test::own_cpu({.limit = pm::MiB(64)});
};

TEST_F(AnyModule, ATrainerTakesTheSeedThatWasSet) {
  const auto first_loss = [&](std::optional<std::uint64_t> seed) {
    pm::TrainerOptions with = options();
    if (seed) with.seed = *seed;
    pm::Trainer trainer(Net(), with);
    return trainer.fit(points(64).batch(32), {.steps = 1}).losses.front();
  };
  const std::uint64_t before = pm::ops::default_seed();
  const auto by_default = first_loss(std::nullopt);
  pm::set_seed(7);
  const auto with_seven = first_loss(std::nullopt);
  EXPECT_EQ(with_seven, first_loss(7));
  EXPECT_NE(with_seven, by_default);
  pm::set_seed(before);
  EXPECT_EQ(by_default, first_loss(std::nullopt));
}

TEST_F(AnyModule, ALossThatDependsOnNoParameterIsRefused) {
  pm::TrainerOptions with = options();
  with.loss = [](const pm::Tensor& y, const pm::Tensor& /*t*/) {
    return pm::mean(pm::cast(y > 0.0, pm::DType::f32));
  };
  pm::Trainer trainer(Net(), with);
  EXPECT_THAT(message_of([&] { trainer.fit(points(64).batch(32), {.epochs = 1}); }),
              HasSubstr("[Trainer] the loss depends on none of the parameters"));
}

TEST_F(AnyModule, IsPlannedAndTrainedFromItsDatasets) {
  pm::Trainer trainer(Net(), options());
  const auto result = trainer.fit(points(520).shuffle({.elements = 128}).batch(32),
                                  points(70, 2).batch(32), {.epochs = 30});
  EXPECT_EQ(result.planned_peak, result.measured_peak);
  EXPECT_GT(result.history.back().at("validation_accuracy"), 0.9);
  EXPECT_LT(result.history.back().at("loss"), result.history.front().at("loss") / 2);
}

TEST_F(AnyModule, RemaindersAndValidationFollowFromTheDatasets) {
  const pm::Trainer trainer(Net(), options());
  const auto plan = trainer.plan(points(70).batch(32), points(45, 2).batch(20).prefetch());
  std::vector<std::pair<bool, std::int64_t>> phases;
  for (const auto& phase : plan.phases) {
    phases.emplace_back(phase.kind == pm::train::Phase::Kind::train, phase.batch);
  }
  EXPECT_THAT(phases, ElementsAre(std::pair(true, 32), std::pair(true, 6), std::pair(false, 20),
                                  std::pair(false, 5)));
}

TEST_F(AnyModule, ADatasetThatDoesNotTellIsAskedForItsFirstBatch) {
  pm::Trainer trainer(Net(), options());
  const auto unknown =
      points(70).map([](const pm::data::Element& e) { return e; });  // a map without a spec
  ASSERT_FALSE(unknown.element_spec().known);
  const auto plan = trainer.plan(unknown.batch(16));
  EXPECT_EQ(plan.batch(), 16);
  EXPECT_EQ(trainer.fit(unknown.batch(16), {.epochs = 2}).steps, 10);
}

TEST_F(AnyModule, LossesAndMetricsMayBeFunctions) {
  auto with = options();
  with.loss = [](const pm::Tensor& y, const pm::Tensor& labels) {
    return pm::nn::cross_entropy(y, labels, {.smoothing = 0.1});
  };
  // The share of points that are said to be in class 1: sums of a batch are [said, all].
  with.metrics = {
      "top_1_accuracy",
      pm::train::MetricDef{.name = "said_one",
                           .sums =
                               [](const pm::Tensor& y, const pm::Tensor&) {
                                 const pm::Tensor said = pm::cast(pm::argmax(y), pm::DType::f32);
                                 const pm::Tensor all = pm::ones_like(said);
                                 return pm::concat({pm::reshape(pm::sum(said), pm::Shape{1}),
                                                    pm::reshape(pm::sum(all), pm::Shape{1})},
                                                   0);
                               },
                           .result = [](std::span<const double> s) { return s[0] / s[1]; }}};
  pm::Trainer trainer(Net(), with);
  const auto validation = points(90, 2).batch(32);
  const auto result = trainer.fit(points(512).batch(32), validation, {.epochs = 20});
  const auto& last = result.history.back();
  EXPECT_GT(last.at("validation_top_1_accuracy"), 0.8);
  const auto labels = trainer.predict(validation).to_vector<float>();
  double said = 0;
  for (std::size_t i = 0; i < labels.size(); i += 2) said += labels[i + 1] > labels[i] ? 1 : 0;
  EXPECT_NEAR(last.at("validation_said_one"), said / 90, 1e-6);
}

TEST_F(AnyModule, MetricsAreTakenOverTrainingBatchesToo) {
  auto with = options();
  with.metrics = {"accuracy", "precision", "top_2_accuracy"};
  const auto data = points(200).batch(32);  // a remainder of 8
  for (const std::int64_t parts : {1, 4}) {
    with.optimizer = pm::optim::sgd({.lr = 0});  // so that training sees what evaluation does
    with.accumulate = parts;
    pm::Trainer trainer(Net(), with);
    const auto last = trainer.fit(data, {.epochs = 2}).history.back();
    for (const auto& [name, value] : trainer.evaluate(data)) {
      ASSERT_TRUE(last.contains(name)) << name;
      EXPECT_NEAR(last.at(name), value, 1e-6) << name << " in " << parts << " parts";
    }
  }
}

TEST_F(AnyModule, AccuracyOverBatchesIsOfTheLabelsThatCount) {
  // Of ten labels five count, unevenly over the batches of four; the last batch has none.
  const pm::Tensor x = pm::ones({10, 2}, {.device = device_});
  constexpr std::int64_t kNone = pm::ops::kIgnoreLabel;
  for (const bool asked : {true, false}) {
    const Net net;
    const auto accuracy_if = [&](std::int64_t label) {
      auto with = options();
      with.optimizer = pm::optim::sgd({.lr = 0});
      if (!asked) with.metrics.clear();
      const pm::Tensor y = pm::Tensor::from_values(
          {label, label, label, 1 - label, 1 - label, kNone, kNone, kNone, kNone, kNone}, {10},
          device_);
      pm::Trainer trainer(net, with);
      const auto data = pm::Dataset::from_tensor_slices({x, y}).batch(4);
      const auto last = trainer.fit(data, data, {.epochs = 1}).history.back();
      EXPECT_NEAR(last.at("accuracy"), last.at("validation_accuracy"), 1e-6);
      EXPECT_NEAR(trainer.evaluate(data).at("accuracy"), last.at("accuracy"), 1e-6);
      return last.at("accuracy");
    };
    // All points are alike, and so are their predictions.
    const double first = accuracy_if(0);
    EXPECT_NEAR(std::min(first, accuracy_if(1)), 0.4, 1e-6) << asked;
    EXPECT_NEAR(std::max(first, accuracy_if(1)), 0.6, 1e-6) << asked;
  }
}

TEST_F(AnyModule, EvaluatesLargerBatchesThanTheTrainingHasRoomFor) {
  auto with = options();
  with.accumulate = 8;
  with.optimizer = pm::optim::sgd({.lr = 0});
  const auto data = points(4096);
  pm::Trainer trainer(Net(), with);
  const double loss = trainer.evaluate(data.batch(64)).at("loss");
  trainer.fit(data.batch(64), {.epochs = 1});
  device_.arena().trim();
  const auto used = device_.budget().used();
  EXPECT_NEAR(trainer.evaluate(data.batch(4096)).at("loss"), loss, 1e-5);
  device_.arena().trim();
  EXPECT_EQ(device_.budget().used(), used);
}

TEST_F(AnyModule, EvaluatingAndPredictingNeedNeitherPlanNorTraining) {
  const auto data = points(50).batch(16);
  pm::Trainer fresh(Net(), options());
  const auto metrics = fresh.evaluate(data);
  EXPECT_GT(metrics.at("loss"), 0);
  const pm::Tensor all = fresh.predict(data);
  EXPECT_EQ(all.shape(), pm::Shape({50, 2}));
  // As the module says it by itself.
  pm::data::Pipeline pipeline(data, device_);
  const auto first = pipeline.next();
  const auto expected = fresh.model()((*first)[0].tensor()).to_vector<float>();
  EXPECT_EQ(fresh.predict((*first)[0].tensor()).to_vector<float>(), expected);
  EXPECT_EQ(all.slice(0, 0, 16).to_vector<float>(), expected);
  // And with a plan.
  const auto plan = fresh.plan(data, data);
  EXPECT_NEAR(fresh.evaluate(plan, data).at("loss"), metrics.at("loss"), 1e-6);
}

TEST_F(AnyModule, PredictsMoreThanTheTrainingHasRoomForAndAllOutputs) {
  class Two final : public pm::nn::Module {
   public:
    pm::nn::Tensors forward_all(const pm::nn::Tensors& in) const override {
      return {net(in.at(0)), pm::relu(in.at(0))};
    }
    pm::Tensor loss_all(const pm::nn::Tensors& in, const pm::nn::Tensors& to) const override {
      return pm::nn::cross_entropy(net(in.at(0)), to.at(0));
    }

   private:
    Net net = add("net", Net());
  };
  pm::Trainer trainer(Two(), {.device = device_});
  trainer.fit(points(64).batch(8), {.epochs = 1});
  for (const std::int64_t n : {4, 4096}) {
    const pm::Tensor x = pm::random_normal({n, 2}, 0, 1, {.device = device_});
    const pm::nn::Tensors out = trainer.predict(pm::nn::Tensors{x});
    ASSERT_EQ(out.size(), 2U);
    EXPECT_EQ(out[0].shape(), pm::Shape({n, 2}));
    EXPECT_EQ(out[1].to_vector<float>(), pm::relu(x).to_vector<float>());
  }
}

TEST_F(AnyModule, WeightsOutliveTheTrainerAndItsPlan) {
  const Net net;
  const pm::Tensor x = pm::random_normal({4, 2}, 0, 1, {.device = device_});
  std::vector<float> trained;
  {
    pm::Trainer trainer(net, options());
    trainer.fit(points(256).batch(32), {.epochs = 3});
    trained = trainer.predict(x).to_vector<float>();
    EXPECT_EQ(net(x).to_vector<float>(), trained);      // beside the trainer
    trainer.fit(points(250).batch(25), {.epochs = 1});  // another plan
    trained = trainer.predict(x).to_vector<float>();
  }
  EXPECT_EQ(net(x).to_vector<float>(), trained);
  pm::GradientTape tape;
  const pm::Tensor loss = pm::mean(net(x));
  EXPECT_TRUE(tape.gradient(loss, net).tensors[0].defined());
}

TEST_F(AnyModule, SeveralInputsComeByOrderOrByName) {
  const auto make = [&](std::vector<std::string> names) {
    const pm::Tensor a = pm::random_normal({64, 2}, 0, 1, {.device = device_});
    const pm::Tensor b = pm::random_normal({64, 3}, 0, 1, {.device = device_});
    const pm::Tensor y = pm::add(pm::sum(a, {.axes = {1}, .keep_dims = true}),
                                 pm::sum(b, {.axes = {1}, .keep_dims = true}));
    return names[0] == "y" ? pm::Dataset::from_tensor_slices({y, b, a}, names)
                           : pm::Dataset::from_tensor_slices({a, b, y}, names);
  };
  pm::TrainerOptions with{.loss = "mean_squared_error",
                          .optimizer = pm::optim::adam({.lr = 0.05}),
                          .metrics = {"mean_absolute_error"},
                          .device = device_};
  pm::Trainer ordered(Sum(), with);
  const auto by_order = ordered.fit(make({"a", "b", "y"}).batch(16), {.epochs = 40});
  EXPECT_LT(by_order.losses.back(), 0.05F);
  with.optimizer = pm::optim::adam({.lr = 0.05});
  with.inputs = {"a", "b"};
  with.targets = {"y"};
  pm::Trainer named(Sum(), with);
  EXPECT_LT(named.fit(make({"y", "b", "a"}).batch(16), {.epochs = 40}).losses.back(), 0.05F);
}

TEST_F(AnyModule, MistakesAreNamed) {
  EXPECT_THAT(message_of([] { pm::train::Loss("crossentropy"); }),
              HasSubstr("there is no loss 'crossentropy'; there are cross_entropy"));
  EXPECT_THAT(message_of([] { pm::train::Metric("acc"); }),
              HasSubstr("there is no metric 'acc'; there are accuracy"));
  pm::TrainerOptions without{.device = device_};
  pm::Trainer no_loss(Net(), without);
  EXPECT_THAT(message_of([&] { no_loss.plan(points(32).batch(8)); }),
              HasSubstr("no loss of its own"));
  pm::Trainer no_data(Net(), options());
  EXPECT_THAT(message_of([&] { no_data.plan({.batch = 8}, device_); }),
              HasSubstr("does not say what a batch is"));
  auto wide = options();
  wide.loss = [](const pm::Tensor& y, const pm::Tensor&) { return y; };
  pm::Trainer no_scalar(Net(), wide);
  EXPECT_THAT(message_of([&] { no_scalar.plan(points(32).batch(8)); }),
              HasSubstr("it must be one floating number"));
}

}  // namespace
