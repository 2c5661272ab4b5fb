// Objects that were moved from say so; they do not crash.
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/module.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

auto moved(const char* type) {
  return ThrowsMessage<InvalidArgument>(
      AllOf(HasSubstr(std::string("[") + type), HasSubstr("moved from")));
}

// NOLINTBEGIN(bugprone-use-after-move): that is what is tried

TEST(MovedFrom, APipelineSaysSo) {
  const Device device = test::own_cpu({.limit = MiB(4)});
  data::Pipeline pipeline(data::Dataset::range(4), device);
  data::Pipeline other = std::move(pipeline);
  EXPECT_TRUE(other.next().has_value());
  EXPECT_THAT([&] { (void)pipeline.next(); }, moved("Pipeline"));
  EXPECT_THAT([&] { pipeline.rewind(); }, moved("Pipeline"));
  EXPECT_THAT([&] { pipeline.cancel(); }, moved("Pipeline"));
  EXPECT_THAT([&] { (void)pipeline.save(); }, moved("Pipeline"));
  EXPECT_THAT([&] { (void)pipeline.stats(); }, moved("Pipeline"));
  EXPECT_THAT([&] { (void)pipeline.budget(); }, moved("Pipeline"));
  pipeline = std::move(other);
  EXPECT_TRUE(pipeline.next().has_value());
}

TEST(MovedFrom, ADatasetIsAsBefore) {
  data::Dataset dataset = data::Dataset::range(4);
  const data::Dataset other = std::move(dataset);
  EXPECT_EQ(dataset.cardinality(), 4);
  EXPECT_EQ(dataset.batch(2).cardinality(), 2);
}

TEST(MovedFrom, ATrainerSaysSo) {
  const Device device = test::own_cpu({.limit = MiB(4)});
  train::Trainer trainer(nn::mlp({.in = 4, .hidden = {4}, .classes = 2}), optim::sgd());
  const train::Trainer other = std::move(trainer);
  EXPECT_THAT([&] { (void)trainer.model(); }, moved("Trainer"));
  EXPECT_THAT([&] { (void)trainer.plan(train::PlanRequest{.batch = 2}, device); },
              moved("Trainer"));
  EXPECT_THAT([&] { (void)trainer.loss(); }, moved("Trainer"));
  EXPECT_THAT([&] { trainer.wait(); }, moved("Trainer"));
}

TEST(MovedFrom, AnOptimizerIsTheSameOne) {
  optim::Optimizer optimizer = optim::adam();
  const optim::Optimizer other = std::move(optimizer);
  EXPECT_EQ(other.name(), "adam");
  EXPECT_EQ(optimizer.name(), "adam");  // a handle: moving copies
}

// NOLINTEND(bugprone-use-after-move)

TEST(ModuleTest, TakesNoNothing) {
  class Parent final : public nn::Module {
   public:
    Tensor forward(const Tensor& x) const override { return x; }
    void take(const std::shared_ptr<nn::Module>& module) { add("part", module); }
  };
  Parent parent;
  EXPECT_THAT(
      [&] { parent.take(nullptr); },
      ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("[Module::add]"), HasSubstr("\"part\""))));
}

}  // namespace
}  // namespace plimsoll
