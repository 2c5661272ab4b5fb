#include "support/growth.h"
#include "support/own_device.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include <plimsoll/memory/ledger.h>
#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/metrics.h>
#include <plimsoll/nn/model.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/train/step.h>

namespace plimsoll::testing {
namespace {

class Small final : public nn::Classifier {
 public:
  Small()
      : conv_(add("conv", nn::Conv2D(4, 3, {.in = 1, .padding = 1}))),
        bn_(add("bn", nn::BatchNorm2D({.channels = 4}))),
        dropout_(add("dropout", nn::Dropout(0.1))),
        fc_(add("fc", nn::Dense(3, {.in = 4}))) {}
  TensorType input_type(std::int64_t n) const override { return {DType::f32, {n, 1, 6, 6}}; }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }
  Tensor forward(const Tensor& x) const override {
    return fc_(dropout_(ops::global_avg_pool2d(ops::relu(bn_(conv_(x))))));
  }

 private:
  nn::Conv2D conv_;
  nn::BatchNorm2D bn_;
  nn::Dropout dropout_;
  nn::Dense fc_;
};

std::map<Tag, Bytes> live_by_tag(const Device& device) {
  std::map<Tag, Bytes> live;
  for (const Holder& holder : by_tag(device.budget().ledger().holders())) {
    if (holder.bytes > 0) live[holder.tag] = holder.bytes;
  }
  return live;
}

}  // namespace

void expect_no_growth(int steps) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  Small model;
  model.materialize(device, 1);
  optim::Optimizer optimizer = optim::adamw({.lr = 1e-3});
  optimizer.attach(model);
  optimizer.materialize(device);
  train::LossScale scale;
  scale.materialize(device);
  nn::Mean mean(device);

  std::map<Tag, Bytes> expected;
  const int every = std::max(1, steps / 100);
  for (int step = 1; step <= steps; ++step) {
    {
      const ops::RandomScope scope({.seed = 1, .step = static_cast<std::uint64_t>(step)});
      Tensor x = Tensor::empty({4, 1, 6, 6}, DType::f32, device);
      nn::fill(x, nn::Init::normal(1), "x", static_cast<std::uint64_t>(step));
      const Tensor y = Tensor::zeros({4}, DType::i64, device);
      optimizer.begin_step();
      mean.update(train::training_step(model, optimizer, x, y,
                                       {.compute = DType::f16, .loss_scale = &scale}));
    }
    if (step == 10) expected = live_by_tag(device);
    if (step > 10 && step % every == 0) {
      ASSERT_EQ(live_by_tag(device), expected) << "after step " << step;
    }
  }
  EXPECT_EQ(live_by_tag(device), expected);
}

}  // namespace plimsoll::testing
