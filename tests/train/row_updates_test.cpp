// Tables of embeddings in training: updated by the rows that were read, with the losses of dense
// updates to the bit.
#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include <plimsoll/device/default_device.h>
#include <plimsoll/function/function.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/embedding_bag.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/optim/adaptive.h>
#include <plimsoll/train/trainer.h>

#include "support/op_checks.h"
#include "support/own_device.h"
#include "support/random_training.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kClasses = 4;

/// Bags of ids, of which 0 is padding, into classes.
class Bags final : public nn::Classifier {
 public:
  explicit Bags(std::int64_t count, std::int64_t features, bool tied = false)
      : tied_(tied),
        table_(add("table", nn::EmbeddingBag(count, features, {.padding_id = 0}))),
        hidden_(add("hidden", nn::Dense(32, {.in = features}))),
        head_(add("head", nn::Dense(kClasses, {.in = 32}))) {}
  TensorType input_type(std::int64_t n) const override { return {DType::i64, {n, 7}}; }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }
  Tensor forward(const Tensor& ids) const override {
    Tensor x = table_(ids);
    if (tied_) x = ops::add(x, table_(ids));
    return head_(ops::tanh(hidden_(x)));
  }

 private:
  bool tied_;
  nn::EmbeddingBag table_;
  nn::Dense hidden_;
  nn::Dense head_;
};

using Make = std::function<optim::Optimizer()>;
const std::vector<Make> kRules = {
    [] { return optim::sgd({.lr = 0.5}); },
    [] { return optim::adagrad({.lr = 0.1, .initial_accumulator = 0.1}); },
    [] { return optim::lazy_adam({.lr = 0.05}); },
};

int count(const train::TrainingPlan& plan, std::string_view suffix) {
  const auto& nodes = plan.phases.front().steps.back()->graph->nodes();
  return static_cast<int>(std::ranges::count_if(
      nodes, [&](const graph::Node& node) { return node.op->name.ends_with(suffix); }));
}

struct Trained {
  train::TrainingPlan plan;
  train::FitResult result;
  Tensor table;
};

Trained trained(const Make& rule, const train::TrainerOptions& options, bool tied = false) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  const Bags model(500, 24, tied);
  train::Trainer trainer(model, rule(), options);
  const train::TrainingPlan plan = trainer.plan({.batch = 32}, device);
  const auto data = test::any_data(model, kClasses, 320).batch(32);
  auto result = trainer.fit(plan, data, {.epochs = 2});
  EXPECT_EQ(result.planned_peak, result.measured_peak);
  return {plan, result, trainer.model().find("table.weight")->tensor().clone(test::own_cpu(), {})};
}

TEST(RowUpdatesInTraining, LossesAndWeightsHaveTheBitsOfDenseUpdates) {
  for (const DType compute : {DType::f32, DType::bf16}) {
    for (const Make& rule : kRules) {
      SCOPED_TRACE(std::string(rule().name()) + " " + std::string(dtype_name(compute)));
      const Trained rows = trained(rule, {.precision = compute});
      EXPECT_EQ(count(rows.plan, "_rows"), 1);
      EXPECT_EQ(count(rows.plan, "embedding_bag_grad"), 0);
      // A bound that nothing reaches: gradients are read once more, and have the same bits.
      const Trained whole = trained(rule, {.precision = compute, .clip_value = 1e30});
      EXPECT_EQ(count(whole.plan, "_rows"), 0);
      EXPECT_EQ(count(whole.plan, "embedding_bag_grad"), 1);
      EXPECT_EQ(rows.result.losses, whole.result.losses);
      EXPECT_TRUE(test::same_bits(rows.table, whole.table));
      EXPECT_LT(rows.plan.planned_peak(), whole.plan.planned_peak());
      EXPECT_LT(rows.result.losses.back(), rows.result.losses.front());
    }
  }
}

TEST(RowUpdatesInTraining, WhatNeedsTheWholeGradientHasIt) {
  const Make& sgd = kRules.front();
  EXPECT_EQ(count(trained(sgd, {.clip_norm = 1}).plan, "_rows"), 0);
  EXPECT_EQ(count(trained(sgd, {.precision = DType::f16}).plan, "_rows"), 0);  // scaled and checked
  EXPECT_EQ(count(trained(sgd, {.accumulate = 2}).plan, "_rows"), 0);
  EXPECT_EQ(count(trained(sgd, {}, true).plan, "_rows"), 0);
  EXPECT_EQ(count(trained([] { return optim::sgd({.weight_decay = 0.1}); }, {}).plan, "_rows"), 0);
  EXPECT_EQ(count(trained([] { return optim::sgd({.momentum = 0.9}); }, {}).plan, "_rows"), 0);
  EXPECT_EQ(count(trained([] { return optim::adam(); }, {}).plan, "_rows"), 0);
  // Weights that decay, but for the table.
  const auto but_the_table = [] {
    return optim::sgd({.weight_decay = 0.1,
                       .groups = {{.name = "tables",
                                   .takes =
                                       [](const Variable& v) {
                                         return v.name().find("table") != std::string::npos;
                                       },
                                   .weight_decay_factor = 0}}});
  };
  EXPECT_EQ(count(trained(but_the_table, {}).plan, "_rows"), 1);
}

TEST(RowUpdatesInTraining, LossesDoNotDependOnTheBudget) {
  for (const Make& rule : kRules) {
    const Bags model(300, 64);
    test::check_budgets(
        [&] { return train::Trainer(Bags(300, 64), rule(), {.allow_split = false}); },
        test::any_data(model, kClasses, 640), 64, 10, 5);
  }
}

TEST(RowUpdatesInTraining, ATableOf10GBNeedsNoGradientOf10GB) {
  constexpr std::int64_t kRows = 40'000'000;
  constexpr Bytes kTable = kRows * 64 * 4;
  const plan::DeviceDescription cpu = plan::describe_device("cpu");
  for (const Make& rule : kRules) {
    SCOPED_TRACE(rule().name());
    train::Trainer trainer(Bags(kRows, 64), rule(), {});
    const auto plan = trainer.plan({.batch = 512, .budget = GiB(64)}, cpu);
    const Bytes states = trainer.optimizer().state_bytes();
    EXPECT_LT(plan.planned_peak(), kTable + states + MiB(16));
    EXPECT_LT(plan.at_peak()[Tag::gradients], MiB(4));
    // 512 bags of 7 rows.
    for (const plan::PlannedTask& task : plan.phases.front().steps.front()->tasks) {
      EXPECT_LT(task.workspace, MiB(4));
    }
    const plan::DeviceDescription gpu = plan::describe_device("h200");
    EXPECT_LT(trainer.plan({.batch = 512}, gpu).planned_peak(), kTable + states + MiB(64));

    train::Trainer whole(Bags(kRows, 64), rule(), {.clip_value = 1e30});
    EXPECT_GT(whole.plan({.batch = 512, .budget = GiB(64)}, cpu).planned_peak(),
              2 * kTable + states);
  }
}

TEST(RowUpdatesInTraining, FunctionsUpdateByRowsToo) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  const DefaultDevice here(device);
  std::vector<std::vector<float>> losses;
  std::vector<Tensor> tables;
  for (const bool traced : {false, true}) {
    const Bags model(400, 16);
    model.materialize(device, 3);
    optim::Optimizer optimizer = optim::adagrad({.lr = 0.1, .initial_accumulator = 0.1});
    const auto step = [&](const Tensor& ids, const Tensor& labels) {
      ops::GradientTape tape;
      const Tensor loss = nn::cross_entropy(model(ids), labels);
      optimizer.apply(tape.gradient(loss, model));
      return loss;
    };
    auto planned = function(step);
    std::vector<float>& of = losses.emplace_back();
    for (std::uint64_t i = 0; i < 6; ++i) {
      const Tensor ids = test::random_indices({32, 7}, 400, i).clone(device, {});
      const Tensor labels = test::random_indices({32}, kClasses, 50 + i).clone(device, {});
      of.push_back((traced ? planned(ids, labels) : step(ids, labels)).item<float>());
    }
    tables.push_back(model.find("table.weight")->tensor().clone(test::own_cpu(), {}));
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_TRUE(test::same_bits(tables[0], tables[1]));
}

}  // namespace
}  // namespace plimsoll
