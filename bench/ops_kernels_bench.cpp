// Times single ops. Reads lines "NAME REPEATS" and answers each with the least seconds that the
// case took; bench/ops_kernels.py drives it and TensorFlow in turns. `--list` prints the names.
#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <plimsoll/base/parallel.h>
#include <plimsoll/device/device.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tape.h>

namespace {

using namespace plimsoll;
using Case = std::function<void()>;

Tensor random(const Device& device, const Shape& shape) {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (float& value : values) value = normal(generator);
  return Tensor::from_values<float>(values, shape, device);
}

/// Forward and gradients by all of `inputs`.
Case training(std::vector<Tensor> inputs,
              std::function<Tensor(const std::vector<Tensor>&)> forward) {
  return [inputs = std::move(inputs), forward = std::move(forward)] {
    ops::GradientTape tape;
    tape.watch(inputs);
    tape.gradient(forward(inputs), inputs);
  };
}

struct Conv {
  const char* name;
  std::int64_t n, in, size, out, kernel, stride, padding;
};

// resnet18 at 64 x 64 with batch 16, lenet with batch 128.
constexpr Conv kConvs[] = {
    {"resnet_stem", 16, 3, 64, 64, 7, 2, 3},     {"resnet_1", 16, 64, 16, 64, 3, 1, 1},
    {"resnet_2_down", 16, 64, 16, 128, 3, 2, 1}, {"resnet_2", 16, 128, 8, 128, 3, 1, 1},
    {"resnet_3", 16, 256, 4, 256, 3, 1, 1},      {"resnet_4", 16, 512, 2, 512, 3, 1, 1},
    {"resnet_2_skip", 16, 64, 16, 128, 1, 2, 0}, {"lenet_1", 128, 1, 28, 6, 5, 1, 2},
    {"lenet_2", 128, 6, 14, 16, 5, 1, 0},
};

void add_convs(std::map<std::string, Case>& cases, const Device& device) {
  for (const Conv& c : kConvs) {
    for (const bool nhwc : {false, true}) {
      const ops::ConvOptions options{
          .stride = {c.stride, c.stride},
          .padding = ops::Padding::all(c.padding),
          .layout = nhwc ? Layout::channels_last : Layout::channels_first};
      const Tensor x = random(
          device, nhwc ? Shape{c.n, c.size, c.size, c.in} : Shape{c.n, c.in, c.size, c.size});
      const Tensor w = random(device, {c.out, c.in, c.kernel, c.kernel});
      const std::string name = std::string(c.name) + (nhwc ? "/nhwc" : "/nchw");
      const auto run = [options](const std::vector<Tensor>& t) {
        return ops::conv2d(t[0], t[1], {}, options);
      };
      cases["conv/" + name + "/forward"] = [=] { run({x, w}); };
      cases["conv/" + name + "/training"] = training({x, w}, run);
    }
  }
}

void add_products(std::map<std::string, Case>& cases, const Device& device) {
  const std::vector<std::array<std::int64_t, 3>> shapes = {
      {2048, 256, 768}, {2048, 256, 256}, {2048, 256, 1024}, {2048, 1024, 256}, {128, 400, 120}};
  for (const auto& [rows, in, out] : shapes) {
    const std::vector<Tensor> t = {random(device, {rows, in}), random(device, {out, in}),
                                   random(device, {out})};
    const std::string name =
        std::to_string(rows) + "x" + std::to_string(in) + "x" + std::to_string(out);
    cases["linear/" + name + "/forward"] = [t] { ops::linear(t[0], t[1], t[2]); };
    const std::vector<Tensor> two = {t[0], t[1]};
    cases["linear/" + name + "/training"] = training(
        two, [](const std::vector<Tensor>& in_t) { return ops::linear(in_t[0], in_t[1]); });
  }
}

void add_others(std::map<std::string, Case>& cases, const Device& device) {
  for (const bool causal : {false, true}) {
    const std::vector<Tensor> qkv = {random(device, {16, 4, 128, 64}),
                                     random(device, {16, 4, 128, 64}),
                                     random(device, {16, 4, 128, 64})};
    const auto run = [causal](const std::vector<Tensor>& t) {
      return ops::attention(t[0], t[1], t[2], {.causal = causal});
    };
    const std::string name = causal ? "attention/causal" : "attention/full";
    cases[name + "/forward"] = [=] { run(qkv); };
    cases[name + "/training"] = training(qkv, run);
  }
  for (const bool nhwc : {false, true}) {
    const Layout layout = nhwc ? Layout::channels_last : Layout::channels_first;
    const std::string end = nhwc ? "/nhwc" : "/nchw";
    const Tensor small = random(device, nhwc ? Shape{128, 28, 28, 6} : Shape{128, 6, 28, 28});
    const Tensor stem = random(device, nhwc ? Shape{16, 32, 32, 64} : Shape{16, 64, 32, 32});
    cases["pool/lenet_max" + end + "/training"] =
        training({small}, [layout](const std::vector<Tensor>& t) {
          return ops::max_pool2d(t[0], {.layout = layout});
        });
    cases["pool/resnet_max" + end + "/training"] =
        training({stem}, [layout](const std::vector<Tensor>& t) {
          return ops::max_pool2d(
              t[0], {.size = {3, 3}, .padding = {.bottom = 1, .right = 1}, .layout = layout});
        });
  }
  std::vector<std::int64_t> labels(2048);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<std::int64_t>(i * 37 % 1000);
  }
  const Tensor ids = Tensor::from_values<std::int64_t>(labels, {2048}, device);
  cases["head/2048x256x1000/training"] = training(
      {random(device, {2048, 256}), random(device, {1000, 256})},
      [ids](const std::vector<Tensor>& t) { return ops::linear_cross_entropy(t[0], t[1], ids); });
}

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double least_seconds(const Case& run, int repeats, clockid_t clock) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const double before = now(clock);
    run();
    least = std::min(least, now(clock) - before);
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  const Device device = Device::open("cpu:0", {.limit = GiB(2)});
  std::map<std::string, Case> cases;
  add_convs(cases, device);
  add_products(cases, device);
  add_others(cases, device);
  if (argc > 1 && std::string(argv[1]) == "--list") {
    for (const auto& [name, run] : cases) std::cout << name << "\n";
    return 0;
  }
  if (argc > 1) set_compute_threads(std::stoi(argv[1]));
  const bool cpu_time = argc > 2 && std::string(argv[2]) == "--cpu-time";
  const clockid_t clock = cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name;
    int repeats = 1;
    words >> name >> repeats;
    std::cout << least_seconds(cases.at(name), repeats, clock) << std::endl;
  }
  return 0;
}
