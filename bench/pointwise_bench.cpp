// A chain of 20 pointwise ops that somebody may write, as one generated kernel and op by op. One
// object of JSON per line; bench/pointwise.py runs the same on PyTorch.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <plimsoll/device/device.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/create.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/plan/executor.h>
#include <plimsoll/plan/planner.h>

using namespace plimsoll;

namespace {

/// 20 ops on x and y, and a row b that is added to each row.
Tensor chain(const Tensor& x, const Tensor& y, const Tensor& b) {
  Tensor h = ops::add(ops::mul(x, ops::sigmoid(ops::scale(x, 1.7))), ops::tanh(y));
  h = ops::add(h, b);
  h = ops::sub(ops::mul(h, ops::exp(ops::neg(ops::square(h)))), ops::scale(y, 0.5));
  h = ops::maximum(h, ops::scale(ops::abs(x), 0.1));
  h = ops::add(ops::silu(h), ops::square(ops::clip(y, -1, 1)));
  return ops::mul(h, ops::shift(ops::sin(h), 1));
}

double median_seconds(plan::Executor& executor, const std::vector<Tensor>& feeds, int steps) {
  for (int i = 0; i < 5; ++i) executor.run(feeds);
  executor.wait();
  std::vector<double> seconds;
  for (int i = 0; i < steps; ++i) {
    constexpr int kEach = 20;
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < kEach; ++k) executor.run(feeds);
    executor.wait();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kEach);
  }
  std::ranges::nth_element(seconds, seconds.begin() + steps / 2);
  return seconds[static_cast<std::size_t>(steps / 2)];
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t rows = 4096;
  std::int64_t columns = 4096;
  int steps = 9;
  CLI::App app("pointwise chains, generated and op by op");
  app.add_option("--rows", rows);
  app.add_option("--columns", columns);
  app.add_option("--steps", steps);
  CLI11_PARSE(app, argc, argv);
  const Device device = Device::open("cuda:0", {.limit = GiB(16)});
  for (const DType dtype : {DType::bf16, DType::f32}) {
    // State and not feeds, which would be copied for each step.
    std::vector<Tensor> given;
    graph::Tracer tracer;
    for (const char* name : {"x", "y", "b"}) {
      const Shape shape = std::string(name) == "b" ? Shape{columns} : Shape{rows, columns};
      given.push_back(full(shape, 0.7, {.dtype = dtype, .device = device}));
      tracer.bind(given.back(), graph::Role::parameter, Tag::parameters, name);
    }
    std::shared_ptr<graph::Graph> graph;
    {
      const ops::DispatchScope scope(tracer);
      tracer.output(chain(given[0], given[1], given[2]));
      graph = std::make_shared<graph::Graph>(tracer.finish());
    }
    plan::Planner planner(graph, {.device = plan::describe_device(device)});
    const plan::Plan plan = planner.largest();
    const auto bytes = static_cast<double>(given[0].nbytes());
    for (const bool fuse : {false, true}) {
      const auto begin = std::chrono::steady_clock::now();
      plan::Executor executor(plan, device, {.fuse = fuse});
      executor.run({});
      executor.run({});
      executor.wait();
      const double ready =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const double seconds = median_seconds(executor, {}, steps);
      // The output is copied out of the plan's range: one more read and write.
      fmt::print(
          "{{\"dtype\": \"{}\", \"fused\": {}, \"tasks\": {}, \"us\": {:.1f}, \"ready_s\": "
          "{:.3f}, \"gb_per_s_of_5_passes\": {:.0f}}}\n",
          dtype_name(dtype), fuse, plan.tasks.size(), seconds * 1e6, ready,
          5 * bytes / seconds * 1e-9);
    }
  }
  return 0;
}
