#include <plimsoll/graph/graph.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

namespace plimsoll::graph {

ValueId Graph::add_value(Value value) {
  const auto id = static_cast<ValueId>(values_.size());
  if (value.memory == kNone) value.memory = id;
  values_.push_back(std::move(value));
  return id;
}

NodeId Graph::add_node(Node node, std::span<const TensorType> outputs) {
  const auto id = static_cast<NodeId>(nodes_.size());
  std::vector<ValueId> written;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.op->overwrites(i)) written.push_back(node.inputs[i]);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Value value{.type = outputs[i], .producer = id, .output = static_cast<int>(i)};
    if (node.op->writes != 0) {
      const Value& before = this->value(written.at(i));
      value.memory = before.memory;
      value.tag = before.tag;
      value.name = before.name;
    } else if (node.op->view && i == 0) {
      value.memory = this->value(node.inputs.front()).memory;
    }
    node.outputs.push_back(add_value(std::move(value)));
  }
  nodes_.push_back(std::move(node));
  return id;
}

Graph Graph::pruned() const {
  std::vector<bool> needed(values_.size(), false);
  for (const ValueId output : outputs_) needed[static_cast<std::size_t>(output)] = true;
  std::vector<bool> keep(nodes_.size(), false);
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = nodes_[i];
    keep[i] = node.op->writes != 0 ||
              std::any_of(node.outputs.begin(), node.outputs.end(),
                          [&](ValueId v) { return needed[static_cast<std::size_t>(v)]; });
    if (!keep[i]) continue;
    for (const ValueId input : node.inputs) needed[static_cast<std::size_t>(input)] = true;
  }
  Graph result;
  result.values_ = values_;
  result.outputs_ = outputs_;
  std::vector<NodeId> renamed(nodes_.size(), kNone);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!keep[i]) {
      for (const ValueId v : nodes_[i].outputs) {
        result.values_[static_cast<std::size_t>(v)].producer = kNone;
      }
      continue;
    }
    renamed[i] = static_cast<NodeId>(result.nodes_.size());
    Node node = nodes_[i];
    std::vector<NodeId> after;
    for (const NodeId before : node.after) {
      if (renamed[static_cast<std::size_t>(before)] != kNone) {
        after.push_back(renamed[static_cast<std::size_t>(before)]);
      }
    }
    node.after = std::move(after);
    for (const ValueId v : node.outputs) {
      result.values_[static_cast<std::size_t>(v)].producer = renamed[i];
    }
    result.nodes_.push_back(std::move(node));
  }
  return result;
}

void Graph::verify() const {
  std::vector<bool> ready(values_.size(), false);
  for (std::size_t i = 0; i < values_.size(); ++i) ready[i] = values_[i].role != Role::computed;
  // The node that last wrote a value's memory, and whether someone wrote since a value was made.
  std::vector<bool> stale(values_.size(), false);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    const auto fail = [&](const std::string& what) {
      throw InternalError(fmt::format("[Graph] node {} ({}): {}", n, node.op->name, what));
    };
    std::vector<TensorType> types;
    for (const ValueId input : node.inputs) {
      if (!ready.at(static_cast<std::size_t>(input))) fail(fmt::format("%{} is not there", input));
      if (stale[static_cast<std::size_t>(input)]) fail(fmt::format("%{} is overwritten", input));
      types.push_back(value(input).type);
    }
    for (const NodeId before : node.after) {
      if (before >= static_cast<NodeId>(n)) fail(fmt::format("runs after node {}", before));
    }
    const auto outputs = node.op->types({*node.op, types, node.attributes});
    if (outputs.size() != node.outputs.size()) fail("has another number of outputs");
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Value& output = value(node.outputs[i]);
      if (output.type != outputs[i]) {
        fail(fmt::format("output {} is {}, not {}", i, output.type.to_string(),
                         outputs[i].to_string()));
      }
      if (output.producer != static_cast<NodeId>(n)) fail("an output has another producer");
      ready[static_cast<std::size_t>(node.outputs[i])] = true;
      if (node.op->writes == 0) continue;
      for (std::size_t v = 0; v < values_.size(); ++v) {
        if (values_[v].memory == output.memory && static_cast<ValueId>(v) != node.outputs[i]) {
          stale[v] = ready[v];
        }
      }
    }
  }
  for (const ValueId output : outputs_) {
    if (!ready.at(static_cast<std::size_t>(output))) {
      throw InternalError(fmt::format("[Graph] output %{} is never computed", output));
    }
  }
}

std::string Graph::to_string() const {
  std::string text;
  const auto names = [](const std::vector<ValueId>& ids) {
    std::string list;
    for (const ValueId id : ids) list += fmt::format("{}%{}", list.empty() ? "" : ", ", id);
    return list;
  };
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Value& v = values_[i];
    if (v.role == Role::computed) continue;
    constexpr std::array kRoles = {"input", "parameter", "state", "constant", "computed"};
    text += fmt::format("%{} = {} {} {}{}\n", i, kRoles[static_cast<std::size_t>(v.role)], v.name,
                        v.type.to_string(),
                        v.role == Role::constant ? ", " + format_bytes(v.type.bytes()) : "");
  }
  for (const Node& node : nodes_) {
    const std::string attributes = node.attributes.to_string();
    text += fmt::format("{} = {}({}{}{}) {}{}{}\n", names(node.outputs), node.op->name,
                        names(node.inputs), attributes.empty() ? "" : "; ", attributes,
                        node.outputs.empty() ? "" : value(node.outputs[0]).type.to_string(),
                        node.scope.empty() ? "" : "  @", node.scope);
  }
  return text + fmt::format("outputs {}\n", names(outputs_));
}

}  // namespace plimsoll::graph
