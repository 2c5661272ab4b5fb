// Fits y [n,1] to x [n,k] with a loss and a loop of its own: regression X.npy Y.npy [EPOCHS]
#include <cstdlib>
#include <iostream>

#include <plimsoll/plimsoll.h>

namespace pm = plimsoll;

int main(int argc, char** argv) try {
  if (argc < 3) throw pm::InvalidArgument("regression X.npy Y.npy [EPOCHS]");
  const auto device = pm::Device::open("cpu:0", {.limit = pm::MiB(64)});
  const auto rows = pm::data::Dataset::zip(
      {pm::data::Dataset::from_npy(argv[1]), pm::data::Dataset::from_npy(argv[2])});
  pm::data::Pipeline batches(rows.shuffle(1024).batch(32), device);
  const pm::nn::Sequential net(pm::nn::Dense(32), pm::nn::Tanh(), pm::nn::Dense(1));
  auto optimizer = pm::optim::adam({.lr = 1e-2});
  const auto step = pm::function([&](const pm::Tensor& x, const pm::Tensor& y) {
    pm::GradientTape tape;  // sqrt(1 + error²) - 1 is less moved by outliers than error²
    const pm::Tensor error = pm::square(pm::sub(net(x), y));
    const pm::Tensor loss = pm::mean(pm::shift(pm::sqrt(pm::shift(error, 1)), -1));
    optimizer.apply(tape.gradient(loss, net));
    return loss;
  });
  for (int epoch = argc > 3 ? std::atoi(argv[3]) : 50; epoch > 0; --epoch) {
    float loss = 0;
    while (const auto batch = batches.next()) {
      loss = step((*batch)[0].tensor(), (*batch)[1].tensor()).item<float>();
    }
    batches.rewind();
    if (epoch == 1) std::cout << "loss " << loss << "\n";
  }
} catch (const pm::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
