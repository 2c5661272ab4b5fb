// What programs write with <plimsoll/plimsoll.h> alone, as pm::.
#include <array>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/plimsoll.h>

#include "support/own_device.h"

namespace pm = plimsoll;

namespace {

class Umbrella : public ::testing::Test {
 protected:
  pm::Device device_ = pm::test::own_cpu({.limit = pm::MiB(64)});
  pm::DefaultDevice default_{device_};
};

TEST_F(Umbrella, ReshapeTakesExtentsInBraces) {
  const pm::Tensor x = pm::arange(12);
  EXPECT_EQ(pm::reshape(x, {3, 4}).shape(), (pm::Shape{3, 4}));
  EXPECT_EQ(pm::reshape(x, {-1, 6}).shape(), (pm::Shape{2, 6}));
  EXPECT_EQ(pm::reshape(x, {-1}).shape(), (pm::Shape{12}));
  EXPECT_EQ(pm::reshape(x, pm::Shape{4, 3}).shape(), (pm::Shape{4, 3}));
}

TEST_F(Umbrella, TensorsBesideOthersAreNotHidden) {
  const pm::Tensor like = pm::zeros({2, 3});
  EXPECT_EQ(pm::random_normal(like.type(), 0, 1, like).shape(), like.shape());
  EXPECT_EQ(pm::random_uniform(like.type(), 0, 1, like).shape(), like.shape());
  EXPECT_EQ(pm::arange(4, pm::DType::i64, like).dtype(), pm::DType::i64);
  EXPECT_EQ(pm::arange(0, 10, 2).elements(), 5);
  EXPECT_EQ(pm::full({2}, 7, pm::DType::i32, device_).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{7, 7}));
}

TEST_F(Umbrella, PrintsTensorsVariablesAndShapes) {
  std::ostringstream out;
  const pm::Variable w(pm::tensor({{1, 2}}, {.dtype = pm::i64}), {.name = "w"});
  out << w << "; " << w.tensor().shape() << "; " << pm::tensor(0.5);
  EXPECT_EQ(out.str(), "[[1 2]]\ni64 [1,2] on cpu:0; [1,2]; 0.5\nf32 [] on cpu:0");
}

TEST_F(Umbrella, MetricsAreNamesAndDefinitions) {
  const pm::train::MetricDef sure{
      .name = "sure", .sums = [](const pm::Tensor& y, const pm::Tensor&) { return pm::sum(y); }};
  const pm::TrainerOptions options{.metrics = {"accuracy", sure}};
  EXPECT_EQ(options.metrics.at(1).name(), "sure");
}

TEST_F(Umbrella, HasWhatTheDocumentationUses) {
  const pm::data::RegisteredFunction next(
      {.name = "next",
       .outputs = {pm::data::TensorSpec::scalar(pm::DType::i64)},
       .run = [](std::span<const pm::data::Value> in, pm::data::MapContext&)
           -> std::vector<pm::data::Value> { return {in[0].as<std::int64_t>() + 1}; }});
  const auto dataset = pm::Dataset::range(3).map(
      [&](pm::Symbolic x) { return pm::Symbolics{pm::data::call_function(next, {x})[0] * 2}; });
  pm::Pipeline pipeline(dataset, device_);
  std::vector<std::int64_t> found;
  for (const auto& element : pipeline) found.push_back(element.at(0).as<std::int64_t>());
  EXPECT_THAT(found, ::testing::ElementsAre(2, 4, 6));
  EXPECT_EQ(pm::data::WriteOptions().format, pm::data::RecordKind::tfrecord);
}

}  // namespace
