#include <plimsoll/plan/run_graph.h>

#include <numeric>
#include <random>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/kernel.h>

#include <plimsoll/ops/kernel_alignment.h>

namespace plimsoll::plan {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::Role;
using graph::Value;
using graph::ValueId;

std::vector<Tensor> initial_values(const Graph& graph, const std::map<std::string, Tensor>& feeds) {
  std::vector<Tensor> values(graph.values().size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.role == Role::computed) continue;
    if (value.role != Role::input) {
      if (value.tensor.is_symbolic()) {
        throw InvalidArgument(
            fmt::format("[run_graph] {} is declared, but has no data yet", value.name));
      }
      values[i] = value.tensor;
      if (!ops::suits_kernels(values[i])) {
        throw InvalidArgument(
            fmt::format("[run_graph] {} does not begin at a multiple of {} bytes; give the graph a "
                        "clone() of it",
                        value.name, value.tensor.device().capabilities().kernel_alignment));
      }
      continue;
    }
    const auto feed = feeds.find(value.name);
    if (feed == feeds.end()) {
      throw InvalidArgument(fmt::format("[run_graph] nothing is fed for {}", value.name));
    }
    if (feed->second.type() != value.type) {
      throw InvalidArgument(fmt::format("[run_graph] {} is {}, but {} is fed", value.name,
                                        value.type.to_string(), feed->second.type().to_string()));
    }
    values[i] = ops::placed_for_kernels(feed->second.contiguous());
  }
  return values;
}

void run_node(const Graph& graph, const Node& node, std::vector<Tensor>& values,
              const Device& device, const ops::RandomKey& random) {
  std::vector<TensorType> in_types;
  std::vector<ops::TensorView> in;
  for (const ValueId input : node.inputs) {
    Tensor& tensor = values[static_cast<std::size_t>(input)];
    in_types.push_back(tensor.type());
    in.push_back({const_cast<void*>(tensor.raw_data()), tensor.type()});
  }
  std::vector<TensorType> out_types;
  std::vector<ops::TensorView> out;
  std::size_t next_written = 0;
  bool work = node.op->writes != 0;
  for (const ValueId output : node.outputs) {
    const TensorType& type = graph.value(output).type;
    Tensor& tensor = values[static_cast<std::size_t>(output)];
    if (node.op->writes != 0) {
      while (!node.op->overwrites(next_written)) ++next_written;
      tensor = values[static_cast<std::size_t>(node.inputs[next_written++])];
    } else if (node.op->view) {
      tensor = values[static_cast<std::size_t>(node.inputs.front())].reshape(type.shape);
      return;
    } else {
      tensor = Tensor::empty(type.shape, type.dtype, device,
                             {.tag = graph.value(output).tag, .label = node.op->name});
      work = work || tensor.elements() != 0;
    }
    out_types.push_back(type);
    out.push_back({tensor.raw_mutable_data(), type});
  }
  const ops::Kernel* kernel = ops::kernels_of(device).find(*node.op);
  if (kernel == nullptr) {
    throw DeviceError(fmt::format("[{}] has no kernel for {}", node.op->name, device.name()));
  }
  const auto state = kernel->prepare == nullptr
                         ? nullptr
                         : kernel->prepare({*node.op, in_types, node.attributes}, out_types);
  const Block workspace =
      device.allocate(state == nullptr ? 0 : state->workspace, Tag::workspace, node.op->name);
  if (!work) return;
  kernel->run({.outputs = out,
               .inputs = in,
               .attributes = node.attributes,
               .state = state.get(),
               .workspace = workspace.data(),
               .queue = device.queue(kHostStream),
               .random = random});
  device.synchronize(kHostStream);
}

}  // namespace

std::vector<Tensor> run_graph(const Graph& graph, const std::map<std::string, Tensor>& feeds,
                              const Device& device, const RunOptions& options) {
  std::vector<NodeId> order = options.order;
  if (order.empty()) {
    order.resize(graph.nodes().size());
    std::iota(order.begin(), order.end(), 0);
  }
  const DeviceScope current(device);
  std::vector<Tensor> values = initial_values(graph, feeds);
  std::vector<int> readers(values.size(), 0);
  for (const Node& node : graph.nodes()) {
    for (const ValueId input : node.inputs) ++readers[static_cast<std::size_t>(input)];
  }
  for (const ValueId output : graph.outputs()) ++readers[static_cast<std::size_t>(output)];

  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    run_node(graph, node, values, device, options.random);
    for (const ValueId input : node.inputs) {
      const auto at = static_cast<std::size_t>(input);
      if (--readers[at] == 0) values[at] = Tensor();
    }
    for (const ValueId output : node.outputs) {
      if (readers[static_cast<std::size_t>(output)] == 0) {
        values[static_cast<std::size_t>(output)] = Tensor();
      }
    }
  }
  std::vector<Tensor> results;
  for (const ValueId output : graph.outputs()) {
    results.push_back(values[static_cast<std::size_t>(output)]);
  }
  return results;
}

std::vector<NodeId> random_order(const Graph& graph, std::uint64_t seed) {
  const std::size_t count = graph.nodes().size();
  std::vector<int> missing(count, 0);
  std::vector<std::vector<NodeId>> next(count);
  const auto edge = [&](NodeId from, std::size_t to) {
    next[static_cast<std::size_t>(from)].push_back(static_cast<NodeId>(to));
    ++missing[to];
  };
  for (std::size_t n = 0; n < count; ++n) {
    for (const ValueId input : graph.nodes()[n].inputs) {
      const NodeId producer = graph.value(input).producer;
      if (producer != kNone) edge(producer, n);
    }
    for (const NodeId before : graph.nodes()[n].after) edge(before, n);
  }
  std::mt19937_64 random(seed);
  std::vector<NodeId> ready;
  for (std::size_t n = 0; n < count; ++n) {
    if (missing[n] == 0) ready.push_back(static_cast<NodeId>(n));
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const std::size_t pick = random() % ready.size();
    const NodeId node = ready[pick];
    ready[pick] = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (const NodeId n : next[static_cast<std::size_t>(node)]) {
      if (--missing[static_cast<std::size_t>(n)] == 0) ready.push_back(n);
    }
  }
  return order;
}

}  // namespace plimsoll::plan
