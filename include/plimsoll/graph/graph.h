#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/memory/tag.h>
#include <plimsoll/ops/op_def.h>

namespace plimsoll::graph {

using ValueId = std::int32_t;
using NodeId = std::int32_t;
inline constexpr std::int32_t kNone = -1;

/// Where a value comes from.
enum class Role : std::uint8_t {
  input,      ///< fed for each step: a batch, its labels
  parameter,  ///< persists; trained
  state,      ///< persists; a buffer or an optimizer's
  constant,   ///< a tensor that was there when the trace was made
  computed,   ///< by a node
};

/// What a step computes once: immutable, dense, row-major.
struct Value {
  TensorType type;
  Role role = Role::computed;
  Tag tag = Tag::activations;
  std::string name;  ///< of inputs, parameters, state
  /// Who computes it, and which of its outputs it is; kNone for the other roles.
  NodeId producer = kNone;
  int output = 0;
  /// The value whose memory this one is: itself, or for a view and for what a write leaves behind
  /// the one it was made of.
  ValueId memory = kNone;
  /// The tensor of a constant; of a parameter or state the one it was bound to, data or not.
  Tensor tensor;
};

struct Node {
  const ops::OpDef* op = nullptr;
  ops::Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  /// Nodes that must run before, though it reads nothing of theirs: those that read the old value
  /// of what this one writes.
  std::vector<NodeId> after;
  std::string scope;      ///< "encoder/block3"
  bool backward = false;  ///< traced while gradients were taken
};

/// A step as a graph in single-assignment form: nodes in an order in which they can run.
///
/// Order of execution is free within the data dependencies and Node::after; any such order gives
/// the same bits, since every sum of gradients is a node with an order of its own.
class Graph {
 public:
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Value& value(ValueId id) const { return values_.at(static_cast<std::size_t>(id)); }
  const Node& node(NodeId id) const { return nodes_.at(static_cast<std::size_t>(id)); }
  /// Values that must be there at the end: losses, metrics, predictions.
  const std::vector<ValueId>& outputs() const { return outputs_; }

  ValueId add_value(Value value);
  /// Adds the node and its output values.
  NodeId add_node(Node node, std::span<const TensorType> outputs);
  void add_output(ValueId value) { outputs_.push_back(value); }

  /// The same graph without nodes that lead neither to an output nor to a write. Values keep their
  /// ids.
  Graph pruned() const;

  /// Throws InternalError naming the first thing that is not as it should be: a value used before
  /// it is computed, a type that the op's rule does not give, a write with readers left.
  void verify() const;

  /// One line per node: "%7 = matmul(%2, %5) f32 [32,10]  @head".
  std::string to_string() const;

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> outputs_;
};

}  // namespace plimsoll::graph
