#include <plimsoll/plan/op_times.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/plan/generated_kernels.h>

#include "plan/step_model.h"

namespace plimsoll::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;
using Clock = std::chrono::steady_clock;

constexpr double kLong = 0.02;

std::string kind_of(const Graph& graph, const Node& node) {
  std::string kind = fmt::format("{} {}", node.op->name, node.attributes.to_string());
  for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
    kind += " :";
    for (const ValueId v : *values) kind += " " + graph.value(v).type.to_string();
  }
  return kind;
}

class Measurement {
 public:
  Measurement(const Plan& plan, const Device& device, const ExecutorOptions& memory)
      : plan_(plan), graph_(*plan.graph), device_(device), memory_(memory) {}

  double seconds(const PlannedTask& task) const {
    const Node& node = graph_.node(task.node);
    const ops::Kernel* kernel = ops::kernels_of(device_).find(*node.op);
    std::vector<ops::TensorView> in;
    std::vector<ops::TensorView> out;
    std::vector<TensorType> in_types;
    std::vector<TensorType> out_types;
    for (const Place& place : task.inputs) {
      in.push_back(view(place));
      in_types.push_back(in.back().type);
    }
    bool work = false;
    for (const Place& place : task.outputs) {
      out.push_back(view(place));
      out_types.push_back(out.back().type);
      work = work || out.back().elements() != 0;
    }
    if (kernel == nullptr || !work) return 0;
    std::shared_ptr<const ops::KernelState> state;
    if (kernel->prepare != nullptr) {
      state = kernel->prepare({*node.op, in_types, node.attributes}, out_types);
    }
    void* workspace = task.workspace != 0 ? at(task.workspace_offset) : nullptr;
    if (workspace == nullptr && memory_.workspace != nullptr) workspace = memory_.workspace->data();
    double least = 0;
    for (int run = 0; run < 3; ++run) {
      const Clock::time_point begin = Clock::now();
      kernel->run({.outputs = out,
                   .inputs = in,
                   .attributes = node.attributes,
                   .state = state.get(),
                   .workspace = workspace,
                   .random = {}});
      const double took = std::chrono::duration<double>(Clock::now() - begin).count();
      if (took > kLong) return took;  // nothing that a second run would tell
      if (run == 1 || (run > 1 && took < least)) least = took;
    }
    return least;
  }

 private:
  std::byte* at(Bytes offset) const {
    return static_cast<std::byte*>(memory_.range->data()) + offset;
  }

  ops::TensorView view(const Place& place) const {
    const Value& value = graph_.value(place.value);
    if (!place.persistent) return {at(place.offset), value.type};
    const Value& root = graph_.value(value.memory);
    Tensor tensor = memory_.bind ? memory_.bind(root) : Tensor();
    if (!tensor.defined()) tensor = root.tensor;
    return {const_cast<void*>(tensor.raw_data()), value.type};
  }

  const Plan& plan_;
  const Graph& graph_;
  const Device& device_;
  const ExecutorOptions& memory_;
};

}  // namespace

void OpTimes::add(const Graph& graph, std::span<const double> seconds) {
  if (seconds.size() > graph.nodes().size()) {
    throw InvalidArgument(fmt::format("[OpTimes] {} times for {} nodes; give one for each",
                                      seconds.size(), graph.nodes().size()));
  }
  for (std::size_t n = 0; n < seconds.size(); ++n) {
    if (!(seconds[n] > 0)) continue;
    const auto [it, fresh] = seconds_.try_emplace(kind_of(graph, graph.nodes()[n]), seconds[n]);
    if (!fresh) it->second = std::min(it->second, seconds[n]);
  }
}

std::vector<double> OpTimes::of(const Graph& graph) const {
  std::vector<double> seconds(graph.nodes().size(), 0);
  for (std::size_t n = 0; n < seconds.size(); ++n) {
    const auto it = seconds_.find(kind_of(graph, graph.nodes()[n]));
    if (it != seconds_.end()) seconds[n] = it->second;
  }
  return seconds;
}

double OpTimes::seconds(const Plan& plan) const {
  const StepModel model =
      make_step_model(plan.graph, plan.device, {.node_seconds = of(*plan.graph)});
  std::vector<double> by_node(plan.graph->nodes().size(), 0);
  for (const Work& work : model.work) by_node[static_cast<std::size_t>(work.node)] = work.seconds;
  double sum = plan.wait_seconds;
  for (const double seconds : task_seconds(plan, by_node)) sum += seconds;
  return sum;
}

std::vector<double> measure_nodes(const Plan& plan, const Device& device,
                                  const ExecutorOptions& memory) {
  if (!device.capabilities().host_memory) return {};
  if (memory.range == nullptr || memory.range->size() < plan.range) {
    throw InvalidArgument(
        fmt::format("[measure_nodes] the plan's range takes {}", format_bytes(plan.range)));
  }
  const Graph& graph = *plan.graph;
  const Measurement measurement(plan, device, memory);
  std::vector<double> seconds(graph.nodes().size(), 0);
  std::map<std::string, double> known;
  for (const PlannedTask& task : plan.tasks) {
    const Node& node = graph.node(task.node);
    if (task.again || node.op->writes != 0) continue;
    const auto [it, fresh] = known.try_emplace(kind_of(graph, node), 0);
    if (fresh) {
      // Zeros are valid as indices, and as numbers take no longer than others.
      for (const Place& place : task.inputs) {
        if (place.persistent) continue;
        std::memset(static_cast<std::byte*>(memory.range->data()) + place.offset, 0,
                    graph.value(place.value).type.bytes());
      }
      it->second = measurement.seconds(task);
    }
    seconds[static_cast<std::size_t>(task.node)] = it->second;
  }
  return seconds;
}

}  // namespace plimsoll::plan
