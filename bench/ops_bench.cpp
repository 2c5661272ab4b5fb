// Times training steps of whole models: bench_ops MODEL eager|planned [THREADS]. lstm_lm and bert
// take other sizes behind their name: lstm_lm:650,20,35 has 650 features, 20 sequences and 35
// steps. Reads a number of steps from each line and answers with a line of JSON; bench/ops.py
// drives it and TensorFlow (bench/ops_tf.py) in turns.
#include <array>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/base/system.h>
#include <plimsoll/device/device.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/plan/executor.h>
#include <plimsoll/plan/planner.h>
#include <plimsoll/train/step.h>

#include "random_batch.h"

namespace {

using namespace plimsoll;

struct Workload {
  nn::Model model;
  optim::Optimizer optimizer;
  std::int64_t batch;
  std::int64_t labels;  ///< how many there are; ids of an input are below it, too
};

/// Features, sequences and tokens of each: "NAME", or "NAME:650,20,35".
using Sizes = std::array<std::int64_t, 3>;
Sizes sizes_of(const std::string& name, Sizes usual) {
  std::size_t at = name.find(':');
  for (std::size_t i = 0; i < usual.size() && at != std::string::npos; ++i) {
    usual[i] = std::atoll(name.c_str() + at + 1);
    at = name.find(',', at + 1);
  }
  return usual;
}

Workload make_workload(const std::string& name) {
  const optim::SgdOptions sgd{.lr = 0.01, .momentum = 0.9};
  if (name == "lenet") return {nn::lenet(), optim::sgd(sgd), 128, 10};
  if (name == "resnet18") return {nn::resnet18(1000, {.size = 64}), optim::sgd(sgd), 16, 1000};
  if (name == "transformer") {
    return {nn::gpt2({.vocabulary = 1000,
                      .context = 128,
                      .features = 256,
                      .layers = 4,
                      .heads = 4,
                      .dropout = 0}),
            optim::adamw(), 16, 1000};
  }
  if (name.starts_with("lstm_lm")) {
    const auto [features, batch, steps] = sizes_of(name, {650, 20, 35});
    return {nn::lstm_lm({.vocabulary = 10000,
                         .context = steps,
                         .features = features,
                         .hidden = features,
                         .layers = 2,
                         .dropout = 0}),
            optim::sgd({.lr = 0.1}), batch, 10000};
  }
  if (name.starts_with("bert")) {
    const auto [features, batch, tokens] = sizes_of(name, {512, 4, 128});
    return {nn::bert({.context = tokens,
                      .features = features,
                      .hidden = 4 * features,
                      .layers = 4,
                      .heads = features / 64,
                      .dropout = 0}),
            optim::adamw(), batch, 30522};
  }
  throw InvalidArgument(fmt::format(
      "[bench_ops] no model '{}'; use lenet, resnet18, transformer, lstm_lm or bert", name));
}

/// Seconds of a clock of the system.
double now(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

std::unique_ptr<plan::Executor> make_executor(Workload& work, const std::vector<Tensor>& feeds,
                                              const Device& device) {
  graph::Tracer tracer;
  const Tensor input = tracer.input("input", feeds[0].type());
  const Tensor target = tracer.input("target", feeds[1].type());
  nn::bind(tracer, work.model);
  optim::bind(tracer, work.optimizer);
  {
    const ops::DispatchScope scope(tracer);
    tracer.output(train::training_step(work.model, work.optimizer, input, target));
  }
  plan::Planner planner(std::make_shared<graph::Graph>(tracer.finish()),
                        {.device = plan::describe_device(device)});
  return std::make_unique<plan::Executor>(planner.largest(), device);
}

void run(const std::string& name, std::string_view mode) {
  const Device device = Device::open("cpu:0");
  const Bytes before = resident_bytes();
  Workload work = make_workload(name);
  work.optimizer.attach(work.model);
  work.model.materialize(device, 1);
  work.optimizer.materialize(device);
  const std::vector<Tensor> feeds = {
      bench::random_batch(work.model.input_type(work.batch), work.labels, 7, device),
      bench::random_batch(work.model.target_type(work.batch), work.labels, 8, device)};

  std::unique_ptr<plan::Executor> executor;
  if (mode == "planned") executor = make_executor(work, feeds, device);
  const auto step = [&] {
    work.optimizer.begin_step();
    if (!executor) {
      return train::training_step(work.model, work.optimizer, feeds[0], feeds[1]).item<float>();
    }
    executor->run(feeds);
    return executor->outputs().front().item<float>();
  };

  for (int steps = 0; std::cin >> steps;) {
    std::vector<double> wall;
    std::vector<double> cpu;
    float loss = 0;
    for (int i = 0; i < steps; ++i) {
      const double wall_before = now(CLOCK_MONOTONIC);
      const double cpu_before = now(CLOCK_PROCESS_CPUTIME_ID);
      loss = step();
      wall.push_back(now(CLOCK_MONOTONIC) - wall_before);
      cpu.push_back(now(CLOCK_PROCESS_CPUTIME_ID) - cpu_before);
    }
    const ArenaStats stats = device.arena().stats();
    std::cout << fmt::format(R"({{"wall":[{:.6f}],"cpu":[{:.6f}],"loss":{},"parameters":{},)"
                             R"("mapped":{},"live":{},"rss":{}}})",
                             fmt::join(wall, ","), fmt::join(cpu, ","), loss,
                             work.model.parameter_count(), stats.mapped_peak, stats.live_peak,
                             peak_resident_bytes() - before)
              << std::endl;  // the reader waits for it
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 2 ? argv[2] : "";
  if (mode != "eager" && mode != "planned") {
    std::cerr << "usage: bench_ops MODEL eager|planned [THREADS]\n";
    return 2;
  }
  try {
    set_compute_threads(argc > 3 ? std::atoi(argv[3]) : 0);
    run(argv[1], mode);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return error.exit_code();
  }
}
