// Trains lenet on the handwritten digits that come with the library, eagerly, and measures it on
// pictures it has not seen.
//
//   train_digits [EPOCHS [f32|bf16|f16 [CHECKPOINT]]]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <plimsoll/plimsoll.h>

namespace pm = plimsoll;

namespace {

/// Pictures and labels at some indices, gathered on the device.
struct Batch {
  pm::Tensor x;
  pm::Tensor y;
};

Batch batch_of(const pm::Tensor& images, const pm::Tensor& labels,
               const std::vector<std::int64_t>& indices, const pm::Device& device) {
  const auto n = static_cast<std::int64_t>(indices.size());
  const pm::Tensor at =
      pm::Tensor::from_values(std::span<const std::int64_t>(indices), {n}, device);
  return {pm::ops::gather(images, at), pm::ops::gather(labels, at)};
}

int run(int epochs, const std::string& name, const std::string& checkpoint) {
  const pm::Device device = pm::Device::open("cpu:0", {.limit = pm::MiB(64)});
  const pm::data::Digits digits = pm::data::load_digits(device);
  // At 32x32, the size that lenet was made for.
  const pm::Tensor images = pm::ops::upsample_nearest2d(
      pm::ops::reshape(pm::ops::scale(pm::ops::cast(digits.images, pm::f32), 1.0 / 16),
                       pm::Shape{1797, 1, 8, 8}),
      4);
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> test;
  for (std::int64_t i = 0; i < 1797; ++i) (i % 5 == 4 ? test : train).push_back(i);

  const auto model = pm::nn::lenet({.size = 32});
  auto optimizer = pm::optim::adamw({.lr = pm::optim::Schedule::cosine(2e-3, epochs * 44L)});
  optimizer.attach(*model);
  model->materialize(device, 1);
  optimizer.materialize(device);
  const pm::train::Precision precision = pm::train::Precision::parse(name);
  pm::train::LossScale scale;
  scale.materialize(device);
  const pm::train::StepOptions options{.compute = precision.compute,
                                       .loss_scale = precision.loss_scale ? &scale : nullptr};
  const Batch unseen = batch_of(images, digits.labels, test, device);

  std::mt19937_64 random(1);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    std::shuffle(train.begin(), train.end(), random);
    pm::nn::Mean loss(device);
    for (std::size_t at = 0; at + 32 <= train.size(); at += 32) {
      const Batch batch = batch_of(images, digits.labels,
                                   {train.begin() + static_cast<std::ptrdiff_t>(at),
                                    train.begin() + static_cast<std::ptrdiff_t>(at) + 32},
                                   device);
      optimizer.begin_step();
      loss.update(pm::train::training_step(*model, optimizer, batch.x, batch.y, options));
    }
    model->eval();
    const pm::ops::PrecisionScope scope(precision.compute);
    const float right = pm::nn::accuracy((*model)(unseen.x), unseen.y).item<float>();
    model->train();
    std::printf("epoch %2d  loss %.4f  accuracy %.4f\n", epoch, loss.result(),
                static_cast<double>(right));
  }
  if (!checkpoint.empty()) {
    pm::train::save_checkpoint(checkpoint, {.module = model.get(), .optimizer = &optimizer});
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 10, argc > 2 ? argv[2] : "f32",
               argc > 3 ? argv[3] : "");
  } catch (const pm::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
