#include <plimsoll/graph/trace.h>

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/shape_ops.h>

#include <plimsoll/ops/backward.h>

namespace plimsoll::graph {
namespace {

/// Kernels read constants as they lie: a view with gaps, or one that begins anywhere, is copied.
Tensor dense(const Tensor& tensor) {
  constexpr std::uintptr_t kAlignment = 16;
  if (tensor.is_symbolic()) return tensor;
  const auto at = reinterpret_cast<std::uintptr_t>(tensor.raw_data());
  if (tensor.is_contiguous() && at % kAlignment == 0) return tensor;
  const NoViewListener quiet;  // the graph's own copy; tapes follow the tensor
  return tensor.clone(tensor.device(),
                      {.tag = tensor.storage()->tag(), .label = tensor.storage()->label()});
}

}  // namespace

/// What stands in the tensors a tracer gives out.
struct Tracer::Traced final : Symbol {
  Traced(const Tracer* of, ValueId is, std::string text)
      : tracer(of), value(is), what(std::move(text)) {}
  std::string describe() const override { return what; }

  const Tracer* tracer;
  ValueId value;
  std::string what;
};

Tracer::Tracer() = default;
Tracer::~Tracer() = default;

Tensor Tracer::tensor_for(ValueId id) {
  const Value& value = graph_.value(id);
  std::string what = value.name;
  if (value.producer != kNone) {
    const Node& node = graph_.node(value.producer);
    what = fmt::format("output {} of {}{}{}", value.output, node.op->name,
                       node.scope.empty() ? "" : " in ", node.scope);
  }
  return Tensor::symbolic(value.type, std::make_shared<Traced>(this, id, std::move(what)));
}

Tensor Tracer::input(std::string_view name, const TensorType& type) {
  const ValueId id = graph_.add_value(
      {.type = type, .role = Role::input, .tag = Tag::input, .name = std::string(name)});
  readers_.resize(graph_.values().size());
  return tensor_for(id);
}

void Tracer::bind(const Tensor& tensor, Role role, Tag tag, std::string_view name) {
  if (bound_.contains(tensor.id())) return;
  const ValueId id = graph_.add_value({.type = tensor.type(),
                                       .role = role,
                                       .tag = tag,
                                       .name = std::string(name),
                                       .tensor = role == Role::constant ? dense(tensor) : tensor});
  readers_.resize(graph_.values().size());
  bound_.emplace(tensor.id(), id);
}

void Tracer::read(const Variable& variable) {
  const Tensor& tensor = variable.tensor();
  if (bound_.contains(tensor.id())) return;
  bind(tensor, variable.trainable() ? Role::parameter : Role::state, variable.tag(),
       variable.name());
  variables_.emplace_back(bound_.at(tensor.id()), variable);
}

ValueId Tracer::find(const Tensor& tensor) const {
  const auto it = bound_.find(tensor.id());
  if (it != bound_.end()) return it->second;
  const auto* traced = dynamic_cast<const Traced*>(tensor.symbol().get());
  return traced != nullptr && traced->tracer == this ? traced->value : kNone;
}

void Tracer::output(const Tensor& tensor) {
  const ValueId id = find(tensor);
  if (id == kNone) {
    throw InvalidArgument("[Tracer::output] this tensor is not of the trace");
  }
  graph_.add_output(id);
}

ValueId Tracer::value_of(const Tensor& tensor, const ops::OpCall& call) {
  const ValueId known = find(tensor);
  if (known != kNone) return known;
  if (tensor.is_symbolic()) {
    throw InvalidArgument(fmt::format("[{}] {} is neither of this trace nor bound to it",
                                      call.def.name, tensor.symbol()->describe()));
  }
  bind(tensor, Role::constant, tensor.storage()->tag(), tensor.storage()->label());
  return find(tensor);
}

std::vector<Tensor> Tracer::call(const ops::OpCall& call) {
  Node node{.op = &call.def,
            .attributes = call.attributes,
            .scope = ops::NameScope::current(),
            .backward = ops::BackwardScope::current()};
  for (const Tensor& input : call.inputs) node.inputs.push_back(value_of(input, call));

  const auto writes = [&](std::size_t i) { return call.def.overwrites(i); };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!writes(i)) continue;
    const Value& target = graph_.value(node.inputs[i]);
    const Value& root = graph_.value(target.memory);
    if (root.role != Role::parameter && root.role != Role::state) {
      throw InvalidArgument(
          fmt::format("[{}] writes into {}, which is not a parameter, buffer or state",
                      call.def.name, root.name.empty() ? "a computed value" : root.name));
    }
    // Everybody who reads the old value, by any name it has, comes first.
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      if (graph_.values()[v].memory != target.memory) continue;
      node.after.insert(node.after.end(), readers_[v].begin(), readers_[v].end());
    }
  }
  const NodeId id = graph_.add_node(std::move(node), call.outputs);
  readers_.resize(graph_.values().size());
  const Node& added = graph_.node(id);
  for (const ValueId input : added.inputs) readers_[static_cast<std::size_t>(input)].push_back(id);

  std::vector<Tensor> results;
  std::size_t next_output = 0;
  if (call.def.writes != 0) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (!writes(i)) continue;
      bound_[call.inputs[i].id()] = added.outputs[next_output++];
      results.push_back(call.inputs[i]);
    }
    return results;
  }
  for (const ValueId output : added.outputs) results.push_back(tensor_for(output));
  return results;
}

Tensor Tracer::on_view(const Tensor& tensor, const ViewOf& view) {
  return find(tensor) == kNone ? Tensor() : ops::view_as_op(tensor, view);
}

bool Tracer::computes(const Tensor& tensor) const { return find(tensor) != kNone; }

void Tracer::on_copy(const Tensor& from, const Tensor&) {
  const ValueId id = find(from);
  if (id == kNone || graph_.value(id).role == Role::constant) return;
  throw InvalidArgument(fmt::format(
      "[Tensor::clone] within a trace a copy of {} would keep today's values for good; use the "
      "tensor itself, as ops never write into their inputs",
      graph_.value(id).name));
}

Tensor Tracer::before_widening(const Tensor& tensor) {
  const ValueId id = find(tensor);
  if (id == kNone || graph_.value(id).producer == kNone) return tensor;
  const Node& producer = graph_.node(graph_.value(id).producer);
  if (!producer.op->casts || !is_floating(tensor.dtype())) return tensor;
  const ValueId from = producer.inputs.front();
  const DType dtype = graph_.value(from).type.dtype;
  const bool narrow = dtype == DType::bf16 || dtype == DType::f16;
  return narrow && dtype_size(tensor.dtype()) > dtype_size(dtype) ? tensor_for(from) : tensor;
}

Graph Tracer::finish() const { return graph_.pruned(); }

}  // namespace plimsoll::graph
