// The odd ends of what can be asked for.
#include <gtest/gtest.h>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/random_training.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

using test::toy_data;

nn::Model edge_model() { return nn::mlp({.in = 16, .hidden = {48, 48, 48}, .classes = 4}); }

train::FitResult fit(train::Trainer trainer, std::int64_t batch, std::int64_t count,
                     Bytes limit = MiB(8)) {
  const Device device = test::own_cpu({.limit = limit});
  const auto plan = trainer.plan({.batch = batch}, device);
  return trainer.fit(plan, toy_data(count).batch(batch), {.epochs = 2});
}

TEST(TrainingEdges, ABatchOfOne) {
  const auto result = fit(train::Trainer(edge_model(), optim::adam()), 1, 3);
  EXPECT_EQ(result.steps, 6);
  EXPECT_EQ(result.planned_peak, result.measured_peak);
}

TEST(TrainingEdges, FewerElementsThanABatch) {
  EXPECT_EQ(fit(train::Trainer(edge_model(), optim::adam()), 64, 3).steps, 2);
}

TEST(TrainingEdges, MorePartsThanElements) {
  const auto result = fit(train::Trainer(edge_model(), optim::adam(), {.accumulate = 100}), 6, 10);
  EXPECT_EQ(result.steps, 4);
  EXPECT_EQ(result.planned_peak, result.measured_peak);
}

TEST(TrainingEdges, AllComputedAgainAndAllKeptGiveTheSameLosses) {
  const auto expected = fit(train::Trainer(edge_model(), optim::adam()), 32, 128);
  std::vector<std::string> scopes;
  const Device device = test::own_cpu({.limit = MiB(8)});
  const auto plan = train::Trainer(edge_model(), optim::adam()).plan({.batch = 32}, device);
  for (const graph::Node& node : plan.phases.front().steps.front()->graph->nodes()) {
    const std::string scope = node.scope.substr(0, node.scope.find('/'));
    if (!node.backward && !scope.empty() &&
        std::find(scopes.begin(), scopes.end(), scope) == scopes.end()) {
      scopes.push_back(scope);
    }
  }
  ASSERT_FALSE(scopes.empty());
  EXPECT_EQ(fit(train::Trainer(edge_model(), optim::adam(), {.recompute = scopes}), 32, 128).losses,
            expected.losses);
  EXPECT_EQ(fit(train::Trainer(edge_model(), optim::adam(), {.keep = scopes}), 32, 128).losses,
            expected.losses);
}

TEST(TrainingEdges, FrozenParametersStayAndTakeNoState) {
  auto part = edge_model();
  for (const nn::Parameter& p : part.parameters()) {
    if (p.type().shape.rank() == 2) p.set_trainable(false);
  }
  train::Trainer trainer(std::move(part), optim::adam());
  train::Trainer whole(edge_model(), optim::adam());
  const Device device = test::own_cpu({.limit = MiB(8)});
  const auto plan = trainer.plan({.batch = 32}, device);
  EXPECT_LT(plan.planned_peak(), whole.plan({.batch = 32}, device).planned_peak());
  trainer.materialize(plan);
  const auto values = [&] {
    std::vector<std::vector<float>> all;
    for (const nn::Parameter& p : trainer.model().parameters()) {
      all.push_back(p.tensor().to_vector<float>());
    }
    return all;
  };
  const auto before = values();
  trainer.fit(plan, toy_data(128).batch(32), {.epochs = 2});
  const auto after = values();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const nn::Parameter p = trainer.model().parameters()[i];
    EXPECT_EQ(before[i] != after[i], p.trainable()) << p.name();
  }
}

TEST(TrainingEdges, NothingToTrainIsAMistake) {
  auto frozen = edge_model();
  frozen.freeze();
  try {
    train::Trainer trainer(std::move(frozen), optim::adam());
    fit(std::move(trainer), 8, 16);
    FAIL() << "it trained nothing";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("parameter"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace plimsoll
