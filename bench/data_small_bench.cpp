// Elements per second of range -> shuffle -> map(+1) -> batch on one thread, as a share of what a
// bare loop over arrays does with the same draws: what the pipeline itself costs.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/base/philox.h>
#include <plimsoll/data/pipeline.h>

namespace {

namespace pd = plimsoll::data;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWindow = 100'000;
constexpr std::int64_t kBatch = 256;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::int64_t bare_loop(std::int64_t elements) {
  std::vector<std::int64_t> window(kWindow);
  std::vector<std::int64_t> batch(kBatch);
  for (std::int64_t i = 0; i < kWindow; ++i) window[static_cast<std::size_t>(i)] = i;
  std::int64_t sum = 0;
  plimsoll::Philox::Counter words{};
  for (std::int64_t i = kWindow; i < elements + kWindow; ++i) {
    const auto draw = static_cast<std::uint32_t>(i - kWindow);
    if (draw % 4 == 0) words = plimsoll::Philox::draw({draw / 4, 0, 0, 0}, {1, 2});
    const auto slot = plimsoll::Philox::below(words[draw % 4], static_cast<std::uint32_t>(kWindow));
    batch[draw % kBatch] = window[slot] + 1;
    window[slot] = i;
    if (draw % kBatch == kBatch - 1) sum += batch[static_cast<std::size_t>(sum & 0xFF)];
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Small elements through a pipeline, against a bare loop");
  std::int64_t elements = 10'000'000;
  bool json = false;
  app.add_option("--elements", elements);
  app.add_flag("--json", json, "print one line, elements per second of wall and CPU time");
  CLI11_PARSE(app, argc, argv);

  const auto bare_begin = Clock::now();
  const std::int64_t sum = bare_loop(elements);
  const double bare = static_cast<double>(elements) / seconds_since(bare_begin);

  pd::MapFunction plus_one;
  plus_one.name = "plus one";
  plus_one.output = pd::ElementSpec{true, {pd::TensorSpec::scalar(plimsoll::DType::i64)}, {}};
  plus_one.run = [](const pd::Element& element, pd::MapContext&) {
    pd::Element result;
    result.push_back(element[0].as<std::int64_t>() + 1);
    return result;
  };
  const auto device = plimsoll::Device::open("cpu:0", {.limit = plimsoll::MiB(256)});
  pd::Pipeline pipeline(
      pd::Dataset::range(elements).shuffle({.elements = kWindow}).map(plus_one).batch(kBatch),
      device);
  const auto begin = Clock::now();
  const std::clock_t cpu = std::clock();
  std::int64_t count = 0;
  while (const auto batch = pipeline.next()) count += batch->at(0).tensor().dim(0);
  const double ours = static_cast<double>(count) / seconds_since(begin);
  const double by_cpu =
      static_cast<double>(count) * CLOCKS_PER_SEC / static_cast<double>(std::clock() - cpu);
  if (json) {
    fmt::print("{{\"wall\": {:.0f}, \"cpu\": {:.0f}}}\n", ours, by_cpu);
    return 0;
  }
  fmt::print("pipeline {:.2f} million elements/s, bare loop {:.2f} ({}): {:.3f} of it\n",
             ours / 1e6, bare / 1e6, sum % 10, ours / bare);
  for (const auto& stage : pipeline.stats()) {
    fmt::print("  {:<30} {:6.1f} ns per element\n", stage.stage.substr(0, 30),
               stage.busy_s * 1e9 / static_cast<double>(elements));
  }
  return 0;
}
