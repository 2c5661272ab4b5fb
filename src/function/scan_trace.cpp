#include "function/scan_trace.h"

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>

namespace plimsoll::scanning {
namespace {

using graph::ValueId;
using ops::ScanBody;

void check_node(const graph::Node& node) {
  if (node.op->random) {
    throw InvalidArgument(
        fmt::format("[scan] {} draws random numbers in a step; draw them for all steps before, and "
                    "hand them in as xs",
                    node.op->name));
  }
  if (node.op->writes != 0) {
    throw InvalidArgument(
        fmt::format("[scan] {} writes in a step; hand what changes from step to step in as a state",
                    node.op->name));
  }
}

/// A copy of `x` by an op, in memory of its own.
Tensor copied(const Tensor& x) {
  const std::vector<std::int64_t> none(static_cast<std::size_t>(x.rank()), 0);
  return ops::call_one(*ops::find_op("pad"), {x},
                       {{"before", none}, {"after", none}, {"value", 0.0}});
}

/// `inputs` are the tracer's, in the order of ScanBody, as many of each kind as `counts` says.
/// `numbers` becomes what the body calls each value.
ScanBody make_body(const graph::Tracer& tracer, const std::vector<Tensor>& inputs,
                   const ScanBody& counts, const std::vector<Tensor>& results,
                   std::vector<ValueId>& captured, std::map<ValueId, int>& numbers) {
  const graph::Graph graph = tracer.finish();
  ScanBody body;
  body.states = counts.states;
  body.delayed = counts.delayed;
  body.xs = counts.xs;
  body.shared = counts.shared;
  const auto add = [&](ValueId id) {
    numbers.emplace(id, static_cast<int>(body.types.size()));
    body.types.push_back(graph.value(id).type);
    return static_cast<int>(body.types.size()) - 1;
  };
  for (const Tensor& input : inputs) add(tracer.find(input));
  for (const graph::Node& node : graph.nodes()) {
    check_node(node);
    for (const ValueId id : node.inputs) {
      if (graph.value(id).role == graph::Role::computed || numbers.contains(id)) continue;
      add(id);
      captured.push_back(id);
      ++body.shared;
    }
  }
  for (const graph::Node& node : graph.nodes()) {
    ScanBody::Node step{.op = node.op, .attributes = node.attributes};
    for (const ValueId id : node.inputs) step.inputs.push_back(numbers.at(id));
    for (const ValueId id : node.outputs) step.outputs.push_back(add(id));
    body.nodes.push_back(std::move(step));
  }
  for (const Tensor& result : results) body.results.push_back(numbers.at(tracer.find(result)));
  return body;
}

}  // namespace

Tensor BodyTrace::add(std::vector<Tensor>& kind, const TensorType& type) {
  kind.push_back(tracer_.input(fmt::format("in{}", count_++), type));
  return kind.back();
}

ScanBody BodyTrace::finish(std::vector<Tensor> results, std::vector<ValueId>& captured) {
  const ops::DispatchScope scope(tracer_);
  for (Tensor& result : results) {
    result = copied(result);
    tracer_.output(result);
  }
  std::vector<Tensor> inputs;
  for (const auto* kind : {&states, &delayed, &xs, &shared}) {
    inputs.insert(inputs.end(), kind->begin(), kind->end());
  }
  ScanBody counts;
  counts.states = static_cast<int>(states.size());
  counts.delayed = static_cast<int>(delayed.size());
  counts.xs = static_cast<int>(xs.size());
  counts.shared = static_cast<int>(shared.size());
  return ops::without_copies(make_body(tracer_, inputs, counts, results, captured, numbers_));
}

int BodyTrace::number_of(const Tensor& tensor) const {
  const auto found = numbers_.find(tracer_.find(tensor));
  return found == numbers_.end() ? -1 : found->second;
}

}  // namespace plimsoll::scanning
