#include "support/digits_training.h"
#include "support/own_device.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include <plimsoll/data/digits.h>
#include <plimsoll/nn/metrics.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/step.h>

namespace plimsoll::testing {
namespace {

constexpr std::size_t kPixels = 64;
constexpr int kTimes = 4;  ///< pictures of 8x8 are shown at 32x32, lenet's original size
constexpr int kSide = 8 * kTimes;

struct Batch {
  Tensor x;
  Tensor y;
};

/// Pixel (row, column) of a picture of kSide, from 0 to 1, by linear interpolation; 0 outside.
float pixel(const std::uint8_t* picture, int row, int column) {
  const auto at = [&](int r, int c) {
    return r >= 0 && r < 8 && c >= 0 && c < 8 ? static_cast<float>(picture[r * 8 + c]) / 16 : 0.0F;
  };
  const float r = (static_cast<float>(row) + 0.5F) / kTimes - 0.5F;
  const float c = (static_cast<float>(column) + 0.5F) / kTimes - 0.5F;
  const int r0 = static_cast<int>(std::floor(r));
  const int c0 = static_cast<int>(std::floor(c));
  const float down = r - static_cast<float>(r0);
  const float across = c - static_cast<float>(c0);
  return (1 - down) * ((1 - across) * at(r0, c0) + across * at(r0, c0 + 1)) +
         down * ((1 - across) * at(r0 + 1, c0) + across * at(r0 + 1, c0 + 1));
}

/// Pictures at `indices`, moved by at most `shift` pixels down and across.
Batch batch_of(const std::vector<std::uint8_t>& images, const std::vector<std::int64_t>& labels,
               std::span<const std::size_t> indices, int shift, std::mt19937_64& random,
               const Device& device) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (const std::size_t index : indices) {
    const auto moved = [&] {
      return shift == 0 ? 0
                        : static_cast<int>(random() % static_cast<unsigned>(2 * shift + 1)) - shift;
    };
    const int down = moved();
    const int across = moved();
    for (int row = 0; row < kSide; ++row) {
      for (int column = 0; column < kSide; ++column) {
        x.push_back(pixel(&images[index * kPixels], row - down, column - across));
      }
    }
    y.push_back(labels[index]);
  }
  const auto n = static_cast<std::int64_t>(indices.size());
  return {Tensor::from_values(std::span<const float>(x), {n, 1, kSide, kSide}, device),
          Tensor::from_values(std::span<const std::int64_t>(y), {n}, device)};
}

}  // namespace

DigitsRun train_digits(DType compute, int epochs, std::uint64_t seed) {
  constexpr std::size_t kBatch = 32;
  const Device device = test::own_cpu({.limit = MiB(256)});
  const data::Digits digits = data::load_digits(device);
  const auto images = digits.images.to_vector<std::uint8_t>();
  const auto labels = digits.labels.to_vector<std::int64_t>();
  std::vector<std::size_t> train;
  std::vector<std::size_t> test;
  for (std::size_t i = 0; i < labels.size(); ++i) (i % 5 == 4 ? test : train).push_back(i);

  const auto model = nn::lenet({.size = kSide});
  model.materialize(device, seed);
  const std::size_t steps = train.size() / kBatch * static_cast<std::size_t>(epochs);
  optim::Optimizer optimizer = optim::adamw(
      {.lr = optim::Schedule::cosine(2e-3, static_cast<std::int64_t>(steps)).warm_up(20),
       .weight_decay = 0.01});
  optimizer.attach(model);
  optimizer.materialize(device);
  const train::Precision precision(compute);
  train::LossScale scale(precision.loss_scale.value_or(train::LossScaleOptions{}));
  scale.materialize(device);

  std::mt19937_64 random(seed);
  DigitsRun run;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::shuffle(train.begin(), train.end(), random);
    for (std::size_t at = 0; at + kBatch <= train.size(); at += kBatch) {
      const Batch batch =
          batch_of(images, labels, std::span(train).subspan(at, kBatch), 3, random, device);
      optimizer.begin_step();
      const Tensor loss = train::training_step(
          model, optimizer, batch.x, batch.y,
          {.compute = compute, .loss_scale = precision.loss_scale ? &scale : nullptr});
      run.losses.push_back(loss.item<float>());
    }
  }
  model.eval();
  const Batch batch = batch_of(images, labels, test, 0, random, device);
  const ops::PrecisionScope scope(compute);
  run.accuracy = static_cast<double>(nn::accuracy(model(batch.x), batch.y).item<float>());
  return run;
}

}  // namespace plimsoll::testing
