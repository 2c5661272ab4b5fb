// The C++ side of bench/python.py: processor seconds per step or per element of the same work.
#include <ctime>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/data/dataset.h>
#include <plimsoll/data/pipeline.h>
#include <plimsoll/data/program_ops.h>
#include <plimsoll/nn/model.h>
#include <plimsoll/ops/create.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/train/trainer.h>

namespace {

using namespace plimsoll;

/// Of all threads of the process: what others take does not count.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double step(const std::string& name, std::int64_t batch, int count) {
  const bool small = name == "lenet";
  const Shape shape = small ? Shape{batch, 1, 28, 28} : Shape{batch, 3, 64, 64};
  const Device device = Device::open("cpu:0", {.limit = GiB(4)});
  train::Trainer trainer(nn::make_model(name, {.classes = 10, .size = small ? 28 : 64}),
                         {.optimizer = optim::sgd({.lr = 0.01}), .device = device});
  const Tensor x = ones(shape, {.device = device});
  const Tensor y = zeros({batch}, {.dtype = DType::i64, .device = device});
  const train::TrainingPlan plan = trainer.plan({.batch = batch}, device);
  for (int i = 0; i < 3; ++i) trainer.step(plan, x, y);
  const double start = processor_seconds();
  for (int i = 0; i < count; ++i) trainer.step(plan, x, y);
  trainer.wait();
  return (processor_seconds() - start) / count;
}

double drain(const data::Dataset& set, std::int64_t count) {
  const Device device = Device::open("cpu:0", {.limit = GiB(1)});
  data::Pipeline pipeline(set, device, {.threads = 1});
  const double start = processor_seconds();
  while (pipeline.next()) {
  }
  return (processor_seconds() - start) / static_cast<double>(count);
}

data::Dataset mapped(std::int64_t count) {
  using data::Symbolic;
  const Device device = Device::open("cpu:0", {.limit = GiB(1)});
  const Tensor pictures = zeros({64, 32, 32, 3}, {.dtype = DType::u8, .device = device});
  return data::Dataset::from_tensor_slices({pictures})
      .repeat(count / 64)
      .map([](Symbolic image) {
        return data::cast(image::random_flip(image), DType::f32) / 255 * 2 - 1;
      })
      .batch(32);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app;
  std::string what;
  std::int64_t batch = 32;
  int count = 10;
  app.add_option("what", what, "lenet, resnet18, elements or map")->required();
  app.add_option("--batch", batch);
  app.add_option("--count", count);
  CLI11_PARSE(app, argc, argv);
  double seconds = 0;
  if (what == "elements") {
    seconds = drain(data::Dataset::range(count), count);
  } else if (what == "map") {
    seconds = drain(mapped(count), count);
  } else {
    seconds = step(what, batch, count);
  }
  std::cout << fmt::format("{}\n", seconds);
}
