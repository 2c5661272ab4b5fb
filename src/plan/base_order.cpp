#include <set>

#include "plan/step_model.h"

namespace plimsoll::plan {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

/// Nodes outside the backward pass whose results nobody reads but other such nodes: they end in a
/// write.
std::vector<bool> sinks(const Graph& graph) {
  const auto& nodes = graph.nodes();
  std::vector<bool> read_elsewhere(graph.values().size(), false);
  for (const ValueId output : graph.outputs()) {
    read_elsewhere[static_cast<std::size_t>(output)] = true;
  }
  std::vector<bool> sink(nodes.size(), false);
  for (std::size_t n = nodes.size(); n-- > 0;) {
    sink[n] = !nodes[n].backward;
    for (const ValueId output : nodes[n].outputs) {
      if (read_elsewhere[static_cast<std::size_t>(output)]) sink[n] = false;
    }
    if (sink[n]) continue;
    for (const ValueId input : nodes[n].inputs) {
      read_elsewhere[static_cast<std::size_t>(input)] = true;
    }
  }
  return sink;
}

}  // namespace

std::vector<NodeId> base_order(const Graph& graph) {
  const auto& nodes = graph.nodes();
  const std::vector<bool> sink = sinks(graph);
  std::vector<int> missing(nodes.size(), 0);
  std::vector<std::vector<NodeId>> next(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    std::set<NodeId> before(nodes[n].after.begin(), nodes[n].after.end());
    for (const ValueId input : nodes[n].inputs) {
      if (graph.value(input).producer != kNone) before.insert(graph.value(input).producer);
    }
    missing[n] = static_cast<int>(before.size());
    for (const NodeId b : before) {
      next[static_cast<std::size_t>(b)].push_back(static_cast<NodeId>(n));
    }
  }
  std::vector<NodeId> order;
  order.reserve(nodes.size());
  std::set<NodeId> ready_sinks;
  const auto emit = [&](NodeId node) {
    order.push_back(node);
    for (const NodeId n : next[static_cast<std::size_t>(node)]) {
      if (--missing[static_cast<std::size_t>(n)] == 0 && sink[static_cast<std::size_t>(n)]) {
        ready_sinks.insert(n);
      }
    }
  };
  const auto drain = [&] {
    while (!ready_sinks.empty()) {
      const NodeId node = *ready_sinks.begin();
      ready_sinks.erase(ready_sinks.begin());
      emit(node);
    }
  };
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (missing[n] == 0 && sink[n]) ready_sinks.insert(static_cast<NodeId>(n));
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (sink[n]) continue;
    drain();
    // As traced is an order that works; sinks are in nobody's way.
    emit(static_cast<NodeId>(n));
  }
  drain();
  return order;
}

}  // namespace plimsoll::plan
