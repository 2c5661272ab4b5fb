// dlrm beside the same written out, and how its tables are trained.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/recommendation_models.h>
#include <plimsoll/optim/adaptive.h>
#include <plimsoll/train/trainer.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/own_device.h"

namespace plimsoll::nn {
namespace {

using test::as_doubles;
using test::complaint;
using ::testing::HasSubstr;
using Row = std::vector<double>;

constexpr std::int64_t kDense = 2;
constexpr std::int64_t kTables = 3;
constexpr std::int64_t kRows = 5;
constexpr std::int64_t kFeatures = 4;
constexpr std::int64_t kBag = 2;

Model small() {
  return dlrm({.dense = kDense,
               .tables = kTables,
               .rows = kRows,
               .features = kFeatures,
               .bag = kBag,
               .bottom = {6},
               .top = {5}});
}

/// What a layer of the model makes of x.
Row layer(const Model& model, const std::string& name, const Row& x, bool relu) {
  const Row weight = as_doubles(model.find(name + ".weight")->tensor());
  Row y = as_doubles(model.find(name + ".bias")->tensor());
  for (std::size_t o = 0; o < y.size(); ++o) {
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
    if (relu) y[o] = std::max(y[o], 0.0);
  }
  return y;
}

double logit_of(const Model& model, const std::vector<std::int64_t>& input) {
  Row counts;
  for (std::int64_t i = 0; i < kDense; ++i) {
    counts.push_back(std::log1p(std::max(0.0, static_cast<double>(input[i]))));
  }
  const Row dense = layer(model, "bottom.1", layer(model, "bottom.0", counts, true), true);
  std::vector<Row> vectors = {dense};
  const Row table = as_doubles(model.find("tables.weight")->tensor());
  for (std::int64_t t = 0; t < kTables; ++t) {
    Row sum(kFeatures, 0);
    for (std::int64_t b = 0; b < kBag; ++b) {
      const std::int64_t id = input[static_cast<std::size_t>(kDense + t * kBag + b)];
      for (std::int64_t f = 0; id != 0 && f < kFeatures; ++f) {
        sum[static_cast<std::size_t>(f)] +=
            table[static_cast<std::size_t>((t * kRows + id) * kFeatures + f)];
      }
    }
    vectors.push_back(sum);
  }
  Row all = dense;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double product = 0;
      for (std::size_t f = 0; f < kFeatures; ++f) product += vectors[i][f] * vectors[j][f];
      all.push_back(product);
    }
  }
  return layer(model, "top.1", layer(model, "top.0", all, true), false).front();
}

const std::vector<std::vector<std::int64_t>> kExamples = {
    {3, 0, 1, 2, 4, 4, 3, 0}, {0, 9, 0, 0, 0, 0, 0, 0}, {-5, 1, 4, 0, 1, 3, 2, 1}};

Tensor batch_of(const std::vector<std::vector<std::int64_t>>& examples, const Device& device) {
  std::vector<std::int64_t> all;
  for (const auto& e : examples) all.insert(all.end(), e.begin(), e.end());
  return Tensor::from_values(std::span<const std::int64_t>(all),
                             {static_cast<std::int64_t>(examples.size()), kDense + kTables * kBag},
                             device);
}

TEST(Dlrm, IsWhatItSays) {
  const Device device = test::own_cpu({.limit = MiB(16)});
  const Model model = small();
  model.materialize(device, 3);
  const Row logits = as_doubles(model(batch_of(kExamples, device)));
  ASSERT_EQ(logits.size(), kExamples.size());
  const std::vector<std::int64_t> labels = {1, 0, 1};
  double loss = 0;
  for (std::size_t i = 0; i < kExamples.size(); ++i) {
    const double expected = logit_of(model, kExamples[i]);
    EXPECT_NEAR(logits[i], expected, 1e-5) << i;
    const double signed_logit = labels[i] == 1 ? expected : -expected;
    loss += std::log1p(std::exp(-signed_logit)) / static_cast<double>(kExamples.size());
  }
  const Tensor y = Tensor::from_values(std::span<const std::int64_t>(labels), {3}, device);
  EXPECT_NEAR(model.loss(batch_of(kExamples, device), y).item<float>(), loss, 1e-5);
}

TEST(Dlrm, IdsThatATableDoesNotHaveAreRefused) {
  const Device device = test::own_cpu({.limit = MiB(16)});
  const Model model = small();
  model.materialize(device, 3);
  for (const std::int64_t id : {std::int64_t{-1}, kRows, 2 * kRows}) {
    auto wrong = kExamples;
    wrong[1][3] = id;
    EXPECT_THAT(complaint([&] { model(batch_of(wrong, device)); }), HasSubstr("is outside")) << id;
  }
}

TEST(Dlrm, RefusesSizesThatCannotBe) {
  EXPECT_THAT(complaint([] { dlrm({.tables = 0}); }), HasSubstr("tables is 0"));
  EXPECT_THAT(complaint([] { dlrm({.rows = -3}); }), HasSubstr("rows is -3"));
  EXPECT_THAT(complaint([] { dlrm({.top = {4, 0}}); }), HasSubstr("a width of top is 0"));
}

TEST(Dlrm, LearnsByTheRowsThatItReads) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  for (const DType compute : {DType::f32, DType::bf16}) {
    train::Trainer trainer(small(), optim::sgd({.lr = 0.5}), {.precision = compute});
    const auto plan = trainer.plan({.batch = 3}, device);
    const auto& nodes = plan.phases.front().steps.front()->graph->nodes();
    EXPECT_TRUE(std::ranges::any_of(
        nodes, [](const graph::Node& node) { return node.op->name == "sgd_update_rows"; }));
    const std::vector<std::int64_t> labels = {1, 0, 1};
    const Tensor y = Tensor::from_values(std::span<const std::int64_t>(labels), {3}, device);
    trainer.step(plan, batch_of(kExamples, device), y);
    const float first = trainer.loss();
    for (int i = 0; i < 100; ++i) trainer.step(plan, batch_of(kExamples, device), y);
    EXPECT_LT(trainer.loss(), first / 2);
  }
}

}  // namespace
}  // namespace plimsoll::nn
