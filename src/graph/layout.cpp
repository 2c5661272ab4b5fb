#include <plimsoll/graph/layout.h>

#include <algorithm>
#include <map>

#include "graph/channel_move.h"

namespace plimsoll::graph {
namespace {

const ops::OpDef& transpose_op() {
  static const ops::OpDef& op = *ops::find_op("transpose");
  return op;
}
const ops::OpDef& reshape_op() {
  static const ops::OpDef& op = *ops::find_op("reshape");
  return op;
}

/// Builds a graph anew, value by value, with channels moved around the convolutions that want it.
class Mover {
 public:
  Mover(const Graph& from, ChannelMove move) : from_(from), move_(move) {
    states_.resize(from.values().size());
    renamed_.assign(from.nodes().size(), kNone);
    find_wanted();
  }

  Graph run() {
    for (std::size_t v = 0; v < from_.values().size(); ++v) {
      const Value& value = from_.values()[v];
      if (value.role == Role::computed) continue;
      Value copy = value;
      copy.memory = kNone;
      states_[v].natural = to_.add_value(std::move(copy));
    }
    for (std::size_t n = 0; n < from_.nodes().size(); ++n) add(static_cast<NodeId>(n));
    for (const ValueId v : from_.outputs()) to_.add_output(natural(v, nullptr));
    return to_.pruned();
  }

 private:
  /// What a value of the old graph is in the new one, in either form; kNone where it is not there.
  struct State {
    ValueId natural = kNone;
    ValueId moved = kNone;
    bool follows = false;  ///< moved first: ops that read it follow
    std::map<int, ValueId> lifted;
  };

  /// Marks what convolutions want moved, through the ops that would give it to them.
  void find_wanted() {
    wanted_.assign(from_.values().size(), false);
    for (std::size_t n = from_.nodes().size(); n-- > 0;) {
      const Node& node = from_.nodes()[n];
      const std::optional<MovedCall> call = moved_call(from_, node, move_);
      if (!call || !(wants_move(from_, node, move_) || gives_wanted(node))) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (call->inputs[i] == Form::moved)
          wanted_[static_cast<std::size_t>(node.inputs[i])] = true;
      }
    }
  }
  bool gives_wanted(const Node& node) const {
    return std::ranges::any_of(node.outputs,
                               [&](ValueId v) { return wanted_[static_cast<std::size_t>(v)]; });
  }

  State& state(ValueId v) { return states_[static_cast<std::size_t>(v)]; }
  const Shape& shape(ValueId v) const { return from_.value(v).type.shape; }

  /// Adds a node that takes over scope and pass of `of`, the node of the old graph that it is for.
  const Node& add_node(const ops::OpDef& op, ops::Attributes attributes,
                       std::vector<ValueId> inputs, const Node* of) {
    std::vector<TensorType> types;
    for (const ValueId v : inputs) types.push_back(to_.value(v).type);
    const auto outputs = op.types({op, types, attributes});
    Node node{.op = &op, .attributes = std::move(attributes), .inputs = std::move(inputs)};
    if (of != nullptr) {
      node.scope = of->scope;
      node.backward = of->backward;
    } else {
      node.backward = !to_.nodes().empty() && to_.nodes().back().backward;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!op.overwrites(i)) continue;
      const auto& more = readers_[to_.value(node.inputs[i]).memory];
      node.after.insert(node.after.end(), more.begin(), more.end());
    }
    if (of != nullptr) {
      for (const NodeId before : of->after) {
        const NodeId renamed = renamed_[static_cast<std::size_t>(before)];
        if (renamed != kNone && of->op == &op) node.after.push_back(renamed);
      }
    }
    return to_.node(to_.add_node(std::move(node), outputs));
  }

  /// A node that the user did not write: what it reads must not be overwritten before.
  ValueId add_copy(const ops::OpDef& op, ops::Attributes attributes, ValueId input,
                   const Node* of) {
    const Node& node = add_node(op, std::move(attributes), {input}, of);
    const Value& root = to_.value(to_.value(input).memory);
    if (root.role == Role::parameter || root.role == Role::state) {
      readers_[to_.value(input).memory].push_back(to_.value(node.outputs[0]).producer);
    }
    return node.outputs[0];
  }

  ValueId transposed(ValueId input, const Axes& order, const Node* of) {
    return is_identity(order) ? input : add_copy(transpose_op(), {{"order", order}}, input, of);
  }
  ValueId reshaped(ValueId input, const Shape& to, const Node* of) {
    return add_copy(reshape_op(), {{"shape", ops::to_integers(to)}}, input, of);
  }

  ValueId natural(ValueId v, const Node* of) {
    State& s = state(v);
    if (s.natural != kNone) return s.natural;
    const Shape& to = shape(v);
    s.natural = keeps_bytes(move_, to)
                    ? reshaped(s.moved, to, of)
                    : transposed(s.moved, move_order(inverse(move_), to.rank()), of);
    return s.natural;
  }

  ValueId moved(ValueId v, const Node* of) {
    State& s = state(v);
    if (s.moved != kNone) return s.moved;
    const Shape& from = shape(v);
    s.moved = keeps_bytes(move_, from) ? reshaped(s.natural, moved_shape(move_, from), of)
                                       : transposed(s.natural, move_order(move_, from.rank()), of);
    return s.moved;
  }

  ValueId lifted(ValueId v, int rank, const Node* of) {
    ValueId& known = state(v).lifted.try_emplace(rank, kNone).first->second;
    if (known != kNone) return known;
    Shape full = shape(v);
    while (full.rank() < rank) full = full.with_inserted(0, 1);
    const ValueId input = natural(v, of);
    const Shape to = moved_shape(move_, full);
    known = keeps_bytes(move_, full)
                ? reshaped(input, to, of)
                : transposed(reshaped(input, full, of), move_order(move_, rank), of);
    return known;
  }

  /// Whether something that the op would take moved was moved before. Or all of it can be had like
  /// that for nothing, and either the result is wanted so or something cannot be had otherwise.
  bool follows(const Node& node, const MovedCall& call) {
    bool free = true;
    bool better = gives_wanted(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (call.inputs[i] != Form::moved) continue;
      const State& s = state(node.inputs[i]);
      if (s.follows) return true;
      free = free && (s.moved != kNone || keeps_bytes(move_, shape(node.inputs[i])));
      better = better || s.natural == kNone;
    }
    return free && better;
  }

  void add(NodeId id) {
    const Node& node = from_.node(id);
    if (node.op == &transpose_op() && add_transpose(id, node)) return;
    if (node.op == &reshape_op() && add_reshape(id, node)) return;
    const std::optional<MovedCall> call = moved_call(from_, node, move_);
    if (call && (wants_move(from_, node, move_) || follows(node, *call))) {
      return add_moved(id, node, *call);
    }
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(natural(v, &node));
    take(id, node, add_node(*node.op, node.attributes, std::move(inputs), &node), nullptr);
  }

  void add_moved(NodeId id, const Node& node, const MovedCall& call) {
    const int rank = shape(node.outputs[0]).rank();
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      switch (call.inputs[i]) {
        case Form::natural:
          inputs.push_back(natural(v, &node));
          break;
        case Form::moved:
          inputs.push_back(moved(v, &node));
          break;
        case Form::lifted:
          inputs.push_back(lifted(v, rank, &node));
          break;
      }
    }
    take(id, node, add_node(*node.op, call.attributes, std::move(inputs), &node), &call);
  }

  /// The outputs of `made` are those of `node`.
  void take(NodeId id, const Node& node, const Node& made, const MovedCall* call) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      State& s = state(node.outputs[i]);
      if (call != nullptr && call->outputs[i] == Form::moved) {
        s.moved = made.outputs[i];
        s.follows = true;
      } else {
        s.natural = made.outputs[i];
      }
    }
    if (!made.outputs.empty()) {
      renamed_[static_cast<std::size_t>(id)] = to_.value(made.outputs[0]).producer;
    }
  }

  /// One transpose where there would be two, and none where the result is there already.
  bool add_transpose(NodeId id, const Node& node) {
    const ValueId x = node.inputs[0];
    const ValueId y = node.outputs[0];
    const int rank = shape(x).rank();
    if (rank < 3) return false;
    const Axes& order = node.attributes.integers("order");
    State& s = state(y);
    if (state(x).follows) {
      const Axes direct = composed(move_order(inverse(move_), rank), order);
      s.natural = transposed(state(x).moved, direct, &node);
      renamed_[static_cast<std::size_t>(id)] = to_.value(s.natural).producer;
      return true;
    }
    // Its moved form is x itself, for those who want that; the other is made when it is wanted.
    if (state(x).natural == kNone || !is_identity(composed(order, move_order(move_, rank)))) {
      return false;
    }
    if (from_.value(from_.value(x).memory).role != Role::computed) return false;
    s.moved = state(x).natural;
    return true;
  }

  /// What leaves the batch and the channels alone is the same of a moved tensor.
  bool add_reshape(NodeId id, const Node& node) {
    const Shape& from = shape(node.inputs[0]);
    const Shape& to = shape(node.outputs[0]);
    const State& x = state(node.inputs[0]);
    const bool free = x.moved != kNone && (gives_wanted(node) || x.natural == kNone);
    if (!(x.follows || free) || from.rank() < 3 || to.rank() < 3) return false;
    const int channels = move_ == ChannelMove::to_last ? 1 : -1;
    if (from[0] != to[0] || from.dim(channels) != to.dim(channels)) return false;
    State& s = state(node.outputs[0]);
    s.moved = reshaped(moved(node.inputs[0], &node), moved_shape(move_, to), &node);
    s.follows = true;
    renamed_[static_cast<std::size_t>(id)] = to_.value(s.moved).producer;
    return true;
  }

  const Graph& from_;
  ChannelMove move_;
  Graph to_;
  std::vector<bool> wanted_;                        ///< by old value
  std::vector<State> states_;                       ///< by old value
  std::vector<NodeId> renamed_;                     ///< by old node
  std::map<ValueId, std::vector<NodeId>> readers_;  ///< copies of what persists, by its memory
};

}  // namespace

Graph with_fast_layouts(const Graph& graph) {
  Graph result = graph;
  for (const ChannelMove move : {ChannelMove::to_last, ChannelMove::to_first}) {
    const bool any = std::ranges::any_of(
        result.nodes(), [&](const Node& node) { return wants_move(result, node, move); });
    if (any) result = Mover(result, move).run();
  }
  return result;
}

}  // namespace plimsoll::graph
