// Small models trained step by step beside TensorFlow, from the same weights and batches: see
// record/record_training.py.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/train/safetensors.h>
#include <plimsoll/train/step.h>

#include "support/own_device.h"
#include "support/source_dir.h"

namespace plimsoll::nn {
namespace {

class ConvNet final : public Classifier {
 public:
  ConvNet()
      : conv1_(add("conv1", Conv2D(8, 3, {.in = 2, .padding = 1, .bias = false}))),
        bn1_(add("bn1", BatchNorm2D({.channels = 8}))),
        conv2_(add("conv2", Conv2D(16, 3, {.in = 8, .stride = 2, .padding = 1}))),
        bn2_(add("bn2", BatchNorm2D({.channels = 16}))),
        fc_(add("fc", Dense(5, {.in = 16}))) {}
  TensorType input_type(std::int64_t n) const override { return {DType::f32, {n, 2, 12, 12}}; }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }
  Tensor forward(const Tensor& x) const override {
    const Tensor y = ops::max_pool2d(ops::relu(bn1_(conv1_(x))));
    return fc_(ops::global_avg_pool2d(ops::relu(bn2_(conv2_(y)))));
  }

 private:
  Conv2D conv1_;
  BatchNorm2D bn1_;
  Conv2D conv2_;
  BatchNorm2D bn2_;
  Dense fc_;
};

void expect_recorded_losses(const std::string& name, const Model& model,
                            optim::Optimizer optimizer) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  const train::SafetensorsFile file(
      fmt::format("{}/nn/recorded/{}.safetensors", test_source_dir().string(), name));
  model.materialize(device);
  for (const Parameter& p : model.parameters()) {
    Tensor tensor = p.tensor();
    file.read_into(p.name(), tensor);
  }
  std::vector<Tensor> x;
  std::vector<Tensor> y;
  for (int i = 0; i < 4; ++i) {
    x.push_back(file.read(fmt::format("batch.{}.x", i), device));
    y.push_back(file.read(fmt::format("batch.{}.y", i), device));
  }
  optimizer.attach(model);
  optimizer.materialize(device);
  const auto expected = file.read("losses", device).to_vector<double>();
  for (std::size_t step = 0; step < expected.size(); ++step) {
    optimizer.begin_step();
    const auto loss = static_cast<double>(
        train::training_step(model, optimizer, x[step % 4], y[step % 4]).item<float>());
    EXPECT_NEAR(loss, expected[step], 1e-5 * expected[step]) << name << ", step " << step;
  }
}

TEST(LossesEqualTensorFlows, ConvNetWithBatchNormAndMomentum) {
  ConvNet model;
  expect_recorded_losses("convnet_sgd", model,
                         optim::sgd({.lr = 0.05, .momentum = 0.9, .weight_decay = 1e-3}));
}

TEST(LossesEqualTensorFlows, ConvNetWithNesterov) {
  ConvNet model;
  expect_recorded_losses("convnet_nesterov", model,
                         optim::sgd({.lr = 0.02, .momentum = 0.9, .nesterov = true}));
}

TEST(LossesEqualTensorFlows, TransformerWithAdamW) {
  const auto model = gpt2(
      {.vocabulary = 40, .context = 12, .features = 24, .layers = 2, .heads = 3, .dropout = 0});
  expect_recorded_losses("transformer_adamw", model,
                         optim::adamw({.lr = 1e-3, .weight_decay = 0.1}));
}

TEST(LossesEqualTensorFlows, PerceptronWithAdam) {
  const auto model = mlp({.in = 20, .hidden = {32, 16}, .classes = 5});
  expect_recorded_losses("mlp_adam", model, optim::adam({.lr = 2e-3, .weight_decay = 1e-2}));
}

TEST(LossesEqualTensorFlows, PerceptronWithRmsprop) {
  const auto model = mlp({.in = 20, .hidden = {32, 16}, .classes = 5});
  expect_recorded_losses("mlp_rmsprop", model, optim::rmsprop({.lr = 1e-3}));
}

}  // namespace
}  // namespace plimsoll::nn
