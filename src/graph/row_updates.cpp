#include <plimsoll/graph/row_updates.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::graph {
namespace {

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

/// An update that has a counterpart for rows.
struct Counterpart {
  std::string_view whole;
  std::string_view rows;
  std::size_t states;
};
constexpr std::array kCounterparts = {
    Counterpart{"sgd_update", "sgd_update_rows", 0},
    Counterpart{"adagrad_update", "adagrad_update_rows", 1},
    Counterpart{"lazy_adam_update", "lazy_adam_update_rows", 2},
};

class RowUpdates {
 public:
  explicit RowUpdates(const Graph& graph) : graph_(graph) {
    uses_.assign(graph.values().size(), 0);
    written_.assign(graph.values().size(), false);
    for (const Node& node : graph.nodes()) {
      for (const ValueId v : node.inputs) ++uses_[index(v)];
      if (node.op->writes == 0) continue;
      for (const ValueId v : node.outputs) written_[index(graph.value(v).memory)] = true;
    }
    for (const ValueId v : graph.outputs()) ++uses_[index(v)];
  }

  /// What stands in the node's place; nothing if it stays.
  std::optional<Node> replacement(const Node& update) const {
    const auto* const known =
        std::ranges::find(kCounterparts, update.op->name, &Counterpart::whole);
    if (known == kCounterparts.end() || !leaves_other_rows(update)) return std::nullopt;
    const std::size_t at = known->states + 1;
    const ValueId gradient = update.inputs[at];
    const NodeId producer = graph_.value(gradient).producer;
    if (producer == kNone || uses_[index(gradient)] != 1) return std::nullopt;
    const Node& scatter = graph_.node(producer);
    const bool bags = scatter.op->name == "embedding_bag_grad";
    const bool slices =
        scatter.op->name == "scatter_add" && scatter.attributes.integer("axis") == 0;
    if (!bags && !slices) return std::nullopt;
    // They are read later than before: by then nobody may have written there.
    for (const ValueId v : scatter.inputs) {
      if (written_[index(graph_.value(v).memory)]) return std::nullopt;
    }
    Node node = update;
    node.op = ops::find_op(known->rows);
    if (bags) node.attributes.set("padding_id", scatter.attributes.integer("padding_id"));
    node.inputs[at] = scatter.inputs[1];
    node.inputs.insert(node.inputs.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                       scatter.inputs[0]);
    return node;
  }

 private:
  /// Whether a gradient of 0 changes nothing.
  static bool leaves_other_rows(const Node& update) {
    const ops::Attributes& attributes = update.attributes;
    if (attributes.number("weight_decay") != 0) return false;
    return !attributes.has("epsilon") || attributes.number("epsilon") > 0;
  }

  const Graph& graph_;
  std::vector<int> uses_;      ///< by value; as an output counts as one
  std::vector<bool> written_;  ///< by value that is memory: somebody writes there
};

}  // namespace

Graph with_row_updates(const Graph& graph) {
  const RowUpdates updates(graph);
  std::vector<std::optional<Node>> replaced;
  for (const Node& node : graph.nodes()) replaced.push_back(updates.replacement(node));
  if (std::ranges::none_of(replaced, [](const auto& node) { return node.has_value(); })) {
    return graph;
  }
  // Values and nodes come in the order in which they were made, so that their ids are the same.
  Graph result;
  for (const Value& value : graph.values()) {
    if (value.producer == kNone) {
      result.add_value(value);
      continue;
    }
    if (value.output != 0) continue;  // came with the first
    const auto& other = replaced[index(value.producer)];
    Node node = other ? *other : graph.node(value.producer);
    std::vector<TensorType> types;
    for (const ValueId v : node.outputs) types.push_back(graph.value(v).type);
    node.outputs.clear();
    result.add_node(std::move(node), types);
  }
  for (const ValueId v : graph.outputs()) result.add_output(v);
  return result.pruned();
}

}  // namespace plimsoll::graph
