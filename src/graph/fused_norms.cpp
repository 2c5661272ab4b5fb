#include <plimsoll/graph/fused_norms.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace plimsoll::graph {
namespace {

/// A normalisation and the nodes behind it that go into its application.
struct Application {
  NodeId norm = kNone;
  NodeId add = kNone;
  NodeId relu = kNone;
  ValueId residual = kNone;

  NodeId last() const { return relu != kNone ? relu : add != kNone ? add : norm; }
};

/// A normalisation's gradient and the nodes before it that go into it.
struct Gradient {
  NodeId norm = kNone;
  NodeId relu = kNone;
  NodeId add = kNone;
  ValueId bias = kNone;  ///< where the relu was that of the normalisation itself; else kNone
};

/// Builds a graph anew, node by node, with normalisations fused.
class Fuser {
 public:
  explicit Fuser(const Graph& from) : from_(from) {
    uses_.assign(from.values().size(), 0);
    readers_.resize(from.values().size());
    for (std::size_t n = 0; n < from.nodes().size(); ++n) {
      for (const ValueId v : from.nodes()[n].inputs) {
        ++uses_[index(v)];
        readers_[index(v)].push_back(static_cast<NodeId>(n));
      }
    }
    for (const ValueId v : from.outputs()) ++uses_[index(v)];
    taken_.assign(from.nodes().size(), false);
    find();
  }

  Graph run() {
    values_.assign(from_.values().size(), kNone);
    renamed_.resize(from_.nodes().size());
    for (std::size_t v = 0; v < from_.values().size(); ++v) {
      Value value = from_.values()[v];
      if (value.role == Role::computed) continue;
      value.memory = kNone;
      values_[v] = to_.add_value(std::move(value));
    }
    for (std::size_t n = 0; n < from_.nodes().size(); ++n) add(static_cast<NodeId>(n));
    for (const ValueId v : from_.outputs()) to_.add_output(values_[index(v)]);
    return std::move(to_);
  }

 private:
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  bool is(NodeId id, std::string_view op) const {
    return id != kNone && from_.node(id).op->name == op;
  }
  NodeId producer(ValueId v) const { return from_.value(v).producer; }

  /// The node that alone reads a value, with nobody else wanting it; kNone if there is none.
  NodeId only_reader(ValueId v) const {
    return uses_[index(v)] == 1 && !readers_[index(v)].empty() ? readers_[index(v)].front() : kNone;
  }

  /// An `add` of two tensors of one type that nobody has taken.
  bool is_plain_add(NodeId id) const {
    if (!is(id, "add") || taken_[index(id)]) return false;
    const Node& node = from_.node(id);
    const TensorType& type = from_.value(node.outputs[0]).type;
    return std::ranges::all_of(node.inputs, [&](ValueId v) { return from_.value(v).type == type; });
  }

  /// Whether what `id` reads is still there at `later`.
  bool can_read_at(NodeId id, NodeId later) const {
    for (NodeId n = id + 1; n < later; ++n) {
      const Node& node = from_.node(n);
      if (node.op->writes == 0) continue;
      for (const ValueId written : node.outputs) {
        for (const ValueId read : from_.node(id).inputs) {
          if (from_.value(written).memory == from_.value(read).memory) return false;
        }
      }
    }
    return true;
  }

  void find() {
    for (std::size_t n = 0; n < from_.nodes().size(); ++n) {
      const auto id = static_cast<NodeId>(n);
      if (is(id, "batch_norm") || is(id, "batch_norm_inference")) find_application(id);
      if (is(id, "relu_grad")) find_gradient(id);
    }
  }

  void find_application(NodeId norm) {
    Application found{.norm = norm};
    ValueId y = from_.node(norm).outputs[0];
    const NodeId add = only_reader(y);
    if (is_plain_add(add) && can_read_at(norm, add)) {
      const auto& inputs = from_.node(add).inputs;
      found.add = add;
      found.residual = inputs[inputs[0] == y ? 1 : 0];
      y = from_.node(add).outputs[0];
    }
    const NodeId relu = only_reader(y);
    if (is(relu, "relu") && can_read_at(norm, relu) &&
        (found.add == kNone || can_read_at(found.add, relu))) {
      found.relu = relu;
    }
    if (found.last() == norm && is(norm, "batch_norm_inference")) return;
    for (const NodeId id : {found.norm, found.add, found.relu}) {
      if (id != kNone) taken_[index(id)] = true;
    }
    applications_.emplace(found.last(), found);
  }

  /// The normalisation with these results and this input before `relu`, if that follows it
  /// directly; kNone otherwise.
  NodeId norm_before(NodeId relu, const Node& grad) const {
    if (!is(relu, "relu")) return kNone;
    const NodeId id = producer(from_.node(relu).inputs[0]);
    if (!is(id, "batch_norm")) return kNone;
    const Node& norm = from_.node(id);
    const bool same = norm.outputs[0] == from_.node(relu).inputs[0] &&
                      norm.inputs[0] == grad.inputs[1] && norm.inputs[1] == grad.inputs[2] &&
                      norm.outputs[1] == grad.inputs[3] && norm.outputs[2] == grad.inputs[4] &&
                      norm.attributes == grad.attributes;
    return same ? id : kNone;
  }

  /// Whether a normalisation's gradient can be computed where `relu` gives it dy.
  bool can_run_at(NodeId relu, NodeId norm) const {
    const Node& node = from_.node(norm);
    if (!is(norm, "batch_norm_grad") || taken_[index(norm)]) return false;
    const ValueId dy = from_.node(relu).outputs[0];
    if (node.inputs[0] != dy || std::ranges::count(node.inputs, dy) != 1) return false;
    return std::ranges::all_of(node.inputs,
                               [&](ValueId v) { return v == dy || producer(v) < relu; });
  }

  void find_gradient(NodeId relu) {
    const Node& node = from_.node(relu);
    const auto& readers = readers_[index(node.outputs[0])];
    const auto norm =
        std::ranges::find_if(readers, [&](NodeId reader) { return can_run_at(relu, reader); });
    if (norm == readers.end()) return;
    Gradient found{.norm = *norm, .relu = relu};
    if (only_reader(node.outputs[0]) != kNone) {
      const NodeId before = norm_before(producer(node.inputs[1]), from_.node(*norm));
      if (before == kNone) return;
      found.bias = from_.node(before).inputs[2];
    }
    const NodeId add = producer(node.inputs[0]);
    if (is_plain_add(add) && only_reader(node.inputs[0]) == relu && can_read_at(add, relu)) {
      found.add = add;
    }
    for (const NodeId id : {found.norm, found.relu, found.add}) {
      if (id != kNone) taken_[index(id)] = true;
    }
    gradients_.emplace(relu, found);
  }

  void add(NodeId id) {
    if (const auto found = gradients_.find(id); found != gradients_.end()) {
      return add_gradient(found->second);
    }
    if (is(id, "batch_norm") && taken_[index(id)]) add_statistics(id);
    if (const auto found = applications_.find(id); found != applications_.end()) {
      return add_application(found->second);
    }
    if (taken_[index(id)]) return;
    const Node& node = from_.node(id);
    const Node& made = add_node(*node.op, node.attributes, node.inputs, {id});
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      values_[index(node.outputs[i])] = made.outputs[i];
    }
  }

  /// Adds a node that stands for `old` ones: with the scope and pass of the first, after whatever
  /// any of them came after.
  const Node& add_node(const ops::OpDef& op, ops::Attributes attributes,
                       const std::vector<ValueId>& inputs, std::initializer_list<NodeId> old) {
    const Node& first = from_.node(*old.begin());
    Node node{.op = &op,
              .attributes = std::move(attributes),
              .scope = first.scope,
              .backward = first.backward};
    std::vector<TensorType> types;
    for (const ValueId v : inputs) {
      node.inputs.push_back(values_[index(v)]);
      types.push_back(from_.value(v).type);
    }
    const auto outputs = op.types({op, types, node.attributes});
    const auto made = static_cast<NodeId>(to_.nodes().size());
    for (const NodeId each : old) {
      if (each == kNone) continue;
      for (const NodeId before : from_.node(each).after) {
        const auto& renamed = renamed_[index(before)];
        node.after.insert(node.after.end(), renamed.begin(), renamed.end());
      }
      renamed_[index(each)].push_back(made);
    }
    return to_.node(to_.add_node(std::move(node), outputs));
  }

  void add_statistics(NodeId id) {
    const Node& node = from_.node(id);
    const Node& made = add_node(*ops::find_op("batch_norm_statistics"),
                                {{"channels_last", node.attributes.flag("channels_last")}},
                                {node.inputs[0]}, {id});
    values_[index(node.outputs[1])] = made.outputs[0];
    values_[index(node.outputs[2])] = made.outputs[1];
  }

  void add_application(const Application& a) {
    const Node& norm = from_.node(a.norm);
    std::vector<ValueId> inputs = norm.inputs;
    if (inputs.size() == 3) inputs.insert(inputs.end(), {norm.outputs[1], norm.outputs[2]});
    if (a.residual != kNone) inputs.push_back(a.residual);
    ops::Attributes attributes = norm.attributes;
    attributes.set("relu", a.relu != kNone);
    const Node& made = add_node(*ops::find_op("batch_norm_apply"), std::move(attributes), inputs,
                                {a.norm, a.add, a.relu});
    values_[index(from_.node(a.last()).outputs[0])] = made.outputs[0];
  }

  void add_gradient(const Gradient& g) {
    const Node& norm = from_.node(g.norm);
    const Node& relu = from_.node(g.relu);
    const bool direct = g.bias != kNone;
    // x, scale, then the bias or relu's result, mean and variance behind dy.
    std::vector<ValueId> inputs = {relu.inputs[0], norm.inputs[1],
                                   norm.inputs[2], direct ? g.bias : relu.inputs[1],
                                   norm.inputs[3], norm.inputs[4]};
    if (g.add != kNone) {
      inputs[0] = from_.node(g.add).inputs[0];
      inputs.push_back(from_.node(g.add).inputs[1]);
    }
    const Node& made =
        add_node(*ops::find_op(direct ? "batch_norm_relu_grad" : "batch_norm_add_relu_grad"),
                 norm.attributes, inputs, {g.norm, g.relu, g.add});
    for (std::size_t i = 0; i < 3; ++i) values_[index(norm.outputs[i])] = made.outputs[i];
    if (!direct) values_[index(relu.outputs[0])] = made.outputs[3];
  }

  const Graph& from_;
  Graph to_;
  std::vector<int> uses_;                       ///< by old value; as an output counts as one
  std::vector<std::vector<NodeId>> readers_;    ///< by old value
  std::vector<bool> taken_;                     ///< by old node: it goes into another
  std::map<NodeId, Application> applications_;  ///< by the old node in whose place it comes
  std::map<NodeId, Gradient> gradients_;        ///< likewise
  std::vector<ValueId> values_;                 ///< by old value: the new one
  std::vector<std::vector<NodeId>> renamed_;    ///< by old node: the new ones
};

}  // namespace

Graph with_fused_norms(const Graph& graph) {
  const bool any = std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.op->name == "batch_norm" || node.op->name == "batch_norm_inference";
  });
  return any ? Fuser(graph).run() : graph;
}

}  // namespace plimsoll::graph
