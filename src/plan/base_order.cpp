#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include <plimsoll/ops/fused.h>

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

bool is_computed(const Graph& graph, ValueId id) {
  return graph.value(graph.value(id).memory).role == graph::Role::computed;
}

/// Whether a device might run the node together with others of its kind.
bool joins(const Graph& graph, const Node& node, std::string_view pattern) {
  std::vector<TensorType> in;
  std::vector<TensorType> out;
  for (const ValueId v : node.inputs) in.push_back(graph.value(v).type);
  for (const ValueId v : node.outputs) out.push_back(graph.value(v).type);
  return ops::find_fused(pattern)->joins({}, {*node.op, node.attributes, in, out});
}

struct Small {
  NodeId node = kNone;
  Bytes bytes = 0;  ///< that must be kept for longer, if it moves
};

/// Marks those that together cost next to nothing, the smallest first.
std::vector<bool> cheapest(const Graph& graph, std::vector<Small> nodes) {
  Bytes all = 0;
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    const graph::Value& value = graph.values()[v];
    const bool own = value.memory == static_cast<ValueId>(v);
    if (own && value.role == graph::Role::computed) all += aligned(value.type.bytes());
  }
  Bytes left = std::min(MiB(1), all / 256);
  std::ranges::stable_sort(nodes, {}, &Small::bytes);
  std::vector<bool> marked(graph.nodes().size(), false);
  for (const Small& small : nodes) {
    if (small.bytes > left) break;
    left -= small.bytes;
    marked[static_cast<std::size_t>(small.node)] = true;
  }
  return marked;
}

/// Casts of small parameters, which can all come first.
std::vector<bool> early_casts(const Graph& graph, const std::vector<bool>& sink) {
  std::vector<Small> casts;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (sink[n] || node.backward || !node.after.empty() || !joins(graph, node, "casts")) continue;
    if (graph.value(node.inputs[0]).producer != kNone || is_computed(graph, node.inputs[0]) ||
        graph.value(node.inputs[0]).role == graph::Role::input) {
      continue;
    }
    casts.push_back({static_cast<NodeId>(n), aligned(graph.value(node.outputs[0]).type.bytes())});
  }
  return cheapest(graph, std::move(casts));
}

/// Updates of small parameters that nothing waits for, which can all come last.
std::vector<bool> late_updates(const Graph& graph, const std::vector<bool>& sink,
                               const std::vector<std::vector<NodeId>>& next) {
  std::vector<Small> updates;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!sink[n] || !next[n].empty() || !joins(graph, node, "updates")) continue;
    Bytes bytes = 0;
    for (const ValueId v : node.inputs) {
      if (is_computed(graph, v)) bytes += aligned(graph.value(v).type.bytes());
    }
    updates.push_back({static_cast<NodeId>(n), bytes});
  }
  return cheapest(graph, std::move(updates));
}

/// Sinks that only prepare state for others, the moments of an optimizer say: they need nothing
/// that a step computes, and would hold their results through all of it if they came first.
std::vector<bool> prepared_late(const Graph& graph, const std::vector<bool>& sink) {
  const auto& nodes = graph.nodes();
  std::vector<bool> late(nodes.size(), false);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    late[n] = sink[n] && nodes[n].op->writes == 0 && nodes[n].after.empty() &&
              std::ranges::all_of(nodes[n].inputs, [&](ValueId v) {
                const graph::Value& value = graph.value(v);
                return value.producer == kNone ? value.role != graph::Role::input
                                               : late[static_cast<std::size_t>(value.producer)];
              });
  }
  return late;
}

/// By node: those that read what it makes of parameters alone, a cast say.
std::vector<std::vector<NodeId>> readers_of_casts(const Graph& graph,
                                                  const std::vector<bool>& sink) {
  const auto& nodes = graph.nodes();
  std::vector<char> cast(nodes.size(), 0);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    cast[n] = !sink[n] && std::ranges::none_of(nodes[n].inputs, [&](ValueId v) {
      return is_computed(graph, v) || graph.value(graph.value(v).memory).role == graph::Role::input;
    });
  }
  std::vector<std::vector<NodeId>> readers(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (sink[n]) continue;
    for (const ValueId v : nodes[n].inputs) {
      const NodeId maker = graph.value(graph.value(v).memory).producer;
      if (maker == kNone || cast[static_cast<std::size_t>(maker)] == 0) continue;
      readers[static_cast<std::size_t>(maker)].push_back(static_cast<NodeId>(n));
    }
  }
  return readers;
}

}  // namespace

std::vector<NodeId> base_order(const Graph& graph) {
  const auto& nodes = graph.nodes();
  const std::vector<bool> sink = sinks(graph);
  std::vector<int> missing(nodes.size(), 0);
  std::vector<std::vector<NodeId>> next(nodes.size());
  const std::vector<std::vector<NodeId>> cast_readers = readers_of_casts(graph, sink);
  const std::vector<bool> on_demand = prepared_late(graph, sink);
  std::vector<std::vector<NodeId>> demands(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    std::set<NodeId> before(nodes[n].after.begin(), nodes[n].after.end());
    // What was cast of a parameter can be cast again until the parameter is updated.
    for (const NodeId reads_old : nodes[n].after) {
      if (!sink[n]) break;
      const auto& readers = cast_readers[static_cast<std::size_t>(reads_old)];
      before.insert(readers.begin(), readers.end());
    }
    for (const ValueId input : nodes[n].inputs) {
      if (graph.value(input).producer != kNone) before.insert(graph.value(input).producer);
    }
    for (const NodeId b : before) {
      if (on_demand[static_cast<std::size_t>(b)]) {
        demands[n].push_back(b);
      } else {
        ++missing[n];
        next[static_cast<std::size_t>(b)].push_back(static_cast<NodeId>(n));
      }
    }
  }
  const std::vector<bool> early = early_casts(graph, sink);
  const std::vector<bool> late = late_updates(graph, sink, next);
  std::vector<NodeId> order;
  order.reserve(nodes.size());
  std::set<NodeId> ready_sinks;
  const auto is_ready = [&](std::size_t n) {
    if (missing[n] == 0 && sink[n] && !late[n] && !on_demand[n]) {
      ready_sinks.insert(static_cast<NodeId>(n));
    }
  };
  std::vector<bool> emitted(nodes.size(), false);
  // What a node demands has a lower number than it, so that all of it can be found first.
  const auto emit_demands = [&](NodeId node) {
    std::vector<NodeId> found = demands[static_cast<std::size_t>(node)];
    std::set<NodeId> wanted;
    while (!found.empty()) {
      const NodeId each = found.back();
      found.pop_back();
      if (emitted[static_cast<std::size_t>(each)] || !wanted.insert(each).second) continue;
      const auto& more = demands[static_cast<std::size_t>(each)];
      found.insert(found.end(), more.begin(), more.end());
    }
    for (const NodeId each : wanted) {
      emitted[static_cast<std::size_t>(each)] = true;
      order.push_back(each);
    }
  };
  const auto emit = [&](NodeId node) {
    emit_demands(node);
    order.push_back(node);
    for (const NodeId n : next[static_cast<std::size_t>(node)]) {
      --missing[static_cast<std::size_t>(n)];
      is_ready(static_cast<std::size_t>(n));
    }
  };
  const auto drain = [&] {
    while (!ready_sinks.empty()) {
      const NodeId node = *ready_sinks.begin();
      ready_sinks.erase(ready_sinks.begin());
      emit(node);
    }
  };
  for (std::size_t n = 0; n < nodes.size(); ++n) is_ready(n);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (early[n]) emit(static_cast<NodeId>(n));
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (sink[n] || early[n]) continue;
    drain();
    // As traced is an order that works; sinks are in nobody's way.
    emit(static_cast<NodeId>(n));
  }
  drain();
  // Like beside like.
  std::vector<std::tuple<std::string, std::string, NodeId>> last;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (!late[n]) continue;
    last.emplace_back(nodes[n].op->name, nodes[n].attributes.to_string(), static_cast<NodeId>(n));
  }
  std::sort(last.begin(), last.end());
  for (const auto& [op, attributes, node] : last) emit(node);
  return order;
}

}  // namespace plimsoll::plan
