// Trains lenet on the handwritten digits that come with the library, within a budget, and measures
// it on pictures it has not seen.
//
//   train_digits [EPOCHS [f32|bf16|f16 [CHECKPOINT]]]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <plimsoll/plimsoll.h>

namespace pm = plimsoll;

namespace {

constexpr std::int64_t kTrain = 1437;
constexpr std::int64_t kBatch = 32;

int run(int epochs, const std::string& precision, const std::string& checkpoint) {
  const pm::Device device = pm::Device::open("cpu:0", {.limit = pm::MiB(16)});
  const pm::data::Digits digits = pm::data::load_digits(device);
  const pm::Tensor images = pm::ops::reshape(
      pm::ops::scale(pm::ops::cast(digits.images, pm::f32), 1.0 / 16), pm::Shape{1797, 1, 8, 8});
  const auto pictures = pm::data::Dataset::from_tensor_slices({images, digits.labels});
  const auto train = pictures.take(kTrain).shuffle({.elements = 512}).batch(kBatch);
  const auto validation = pictures.skip(kTrain).batch(kBatch);

  const auto rate = pm::optim::Schedule::cosine(2e-3, epochs * 45L);
  pm::train::Trainer trainer(pm::nn::lenet({.size = 8}), pm::optim::adamw({.lr = rate}),
                             {.precision = pm::train::Precision::parse(precision), .seed = 1});
  const auto plan = trainer.plan({.batch = kBatch,
                                  .remainders = {kTrain % kBatch},
                                  .validation_batch = kBatch,
                                  .validation_remainders = {(1797 - kTrain) % kBatch},
                                  .input = pm::MiB(2)},
                                 device);
  std::fputs(plan.explain().c_str(), stdout);
  const pm::train::Callback show{.on_epoch = [](pm::train::Run& run) {
    std::printf("epoch %2d  loss %.4f  accuracy %.4f\n", static_cast<int>(run.epoch()),
                run.metrics().at("loss"), run.metrics().at("validation_accuracy"));
  }};
  const auto result = trainer.fit(plan, train, validation, {.epochs = epochs, .callbacks = {show}});
  std::printf("planned peak %llu bytes, measured %llu\n",
              static_cast<unsigned long long>(result.planned_peak),
              static_cast<unsigned long long>(result.measured_peak));
  if (!checkpoint.empty()) {
    pm::train::save_checkpoint(checkpoint,
                               {.module = &trainer.model(), .optimizer = &trainer.optimizer()});
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
