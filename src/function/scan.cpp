// scan: its op, and what users call.
#include <plimsoll/function/scan.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/gpu_work.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/variable.h>

#include "function/scan_gradient.h"
#include "function/scan_trace.h"

namespace plimsoll {
namespace {

using ops::Attributes;
using ops::body_of;
using ops::OpInputs;
using ops::ScanBody;
using scanning::BodyTrace;

TensorType stacked(const TensorType& type, std::int64_t steps) {
  return {type.dtype, type.shape.with_inserted(0, steps)};
}

std::vector<TensorType> scan_types(const OpInputs& inputs) {
  const Attributes& attributes = inputs.attributes();
  const ScanBody& body = body_of(attributes.integer("body"));
  const std::int64_t steps = attributes.integer("steps");
  if (steps < 1) inputs.fail(fmt::format("takes at least one step, not {}", steps));
  if (inputs.count() != body.op_inputs()) {
    inputs.fail(fmt::format("takes {} inputs, not {}", body.op_inputs(), inputs.count()));
  }
  const auto expect = [&](int input, const TensorType& type) {
    if (inputs[input] != type) {
      inputs.fail(fmt::format("input {} must be {}", input, type.to_string()));
    }
  };
  for (int i = 0; i < body.inputs(); ++i) {
    const bool delayed = i >= body.states && i < body.states + body.delayed;
    const bool sliced = i >= body.states + body.delayed && i < body.inputs() - body.shared;
    const int at = i < body.states + body.delayed ? i : i + body.delayed;
    expect(at, sliced ? stacked(body.type(i), steps) : body.type(i));
    if (delayed) expect(at + body.delayed, stacked(body.type(i), steps));
  }
  const std::vector<std::int64_t>& recorded = attributes.integers("recorded");
  std::vector<TensorType> outputs;
  for (int i = 0; i < static_cast<int>(body.results.size()); ++i) {
    const bool all = i >= body.states || recorded.at(static_cast<std::size_t>(i)) != 0;
    outputs.push_back(all ? stacked(body.result_type(i), steps) : body.result_type(i));
  }
  return outputs;
}

ops::Cost scan_cost(const OpInputs& inputs, std::span<const TensorType>) {
  const ScanBody& body = body_of(inputs.attributes().integer("body"));
  const auto steps = static_cast<double>(inputs.attributes().integer("steps"));
  ops::Cost total;
  for (const ScanBody::Node& node : body.nodes) {
    if (node.op->view) continue;
    std::vector<TensorType> in;
    std::vector<TensorType> out;
    for (const int value : node.inputs) in.push_back(body.type(value));
    for (const int value : node.outputs) out.push_back(body.type(value));
    const ops::Cost cost = node.op->cost_of({*node.op, in, node.attributes}, out);
    total.flops += steps * cost.flops;
    total.bytes += steps * cost.bytes;
  }
  return total;
}

const ops::OpDef kScan = {
    .name = "scan",
    .family = "scan",
    .summary = "a traced function of states and slices, step by step",
    .inputs = 1,
    .variadic = true,
    .dtypes = ops::kAnyDType,
    .types = scan_types,
    .gradient = scanning::scan_gradient,
    .kept = [](std::uint32_t) { return ops::Kept{.inputs = ~0U, .outputs = ~0U}; },
    .cost = scan_cost,
    .workspace =
        [](const OpInputs& inputs, std::span<const TensorType>) {
          const ScanBody& body = body_of(inputs.attributes().integer("body"));
          return ops::scan_gpu_workspace(body, inputs.attributes().integers("recorded"));
        },
    .precision = ops::Precision::keep,
    .gpu_work =
        [](const OpInputs& inputs, std::span<const TensorType>) {
          const Attributes& attributes = inputs.attributes();
          return ops::GpuWork{
              ops::ScanWork{&body_of(attributes.integer("body")), attributes.integer("steps")}};
        },
};
constexpr std::array kOps = {&kScan};
const ops::RegisterOps kRegistered(kOps);

std::int64_t steps_of(const std::vector<Tensor>& xs, const ScanOptions& options) {
  for (const Tensor& x : xs) {
    if (x.rank() == 0 || x.dim(0) != xs.front().dim(0)) {
      throw InvalidArgument(
          fmt::format("[scan] xs are {} and {}; all must have the steps in front, and as many",
                      xs.front().type().to_string(), x.type().to_string()));
    }
  }
  if (!xs.empty()) return xs.front().dim(0);
  if (options.steps < 0) {
    throw InvalidArgument(fmt::format(
        "[scan] there are no xs, and steps is {}; give the number of steps", options.steps));
  }
  return options.steps;
}

/// Of no steps: the states are what they were, and nothing is recorded.
ScanResult unmoved(const std::vector<Tensor>& states, const std::vector<Tensor>& results) {
  ScanResult result;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorType type = stacked(results[i].type(), 0);
    (i < states.size() ? result.states : result.ys)
        .push_back(ops::full_like_type(states.front(), type, 0));
  }
  result.last = states;
  return result;
}

void check_states(const std::vector<Tensor>& after, const std::vector<Tensor>& before) {
  if (after.size() != before.size()) {
    throw InvalidArgument(
        fmt::format("[scan] a step has {} states and gives {}", before.size(), after.size()));
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].type() != before[i].type()) {
      throw InvalidArgument(
          fmt::format("[scan] state {} is {} before a step and {} after it; cast "
                      "or reshape it in the step",
                      i, before[i].type().to_string(), after[i].type().to_string()));
    }
  }
}

/// What the values that a trace took up by itself are outside of it.
std::vector<Tensor> captured_tensors(const graph::Tracer& tracer,
                                     const std::vector<graph::ValueId>& captured) {
  const graph::Graph graph = tracer.finish();
  std::vector<Tensor> tensors;
  for (const graph::ValueId id : captured) {
    const auto& variables = tracer.variables();
    const auto read = std::find_if(variables.begin(), variables.end(),
                                   [&](const auto& known) { return known.first == id; });
    tensors.push_back(read != variables.end() ? read->second.value() : graph.value(id).tensor);
  }
  return tensors;
}

}  // namespace

ScanResult scan(const ScanFunction& f, const std::vector<Tensor>& states,
                const std::vector<Tensor>& xs, const std::vector<Tensor>& shared,
                const ScanOptions& options) {
  const std::int64_t steps = steps_of(xs, options);
  if (states.empty()) throw InvalidArgument("[scan] give at least one state");
  BodyTrace trace;
  for (const Tensor& state : states) trace.add(trace.states, state.type());
  for (const Tensor& x : xs) trace.add(trace.xs, {x.dtype(), x.shape().with_removed(0)});
  for (const Tensor& tensor : shared) trace.add(trace.shared, tensor.type());
  std::vector<Tensor> results;
  {
    const ops::DispatchScope scope(trace.tracer());
    const ScanStep step = f(trace.states, trace.xs, trace.shared);
    check_states(step.states, trace.states);
    results = step.states;
    results.insert(results.end(), step.ys.begin(), step.ys.end());
  }
  if (steps == 0) return unmoved(states, results);
  std::vector<graph::ValueId> captured;
  ScanBody body = trace.finish(results, captured);
  std::vector<Tensor> inputs = states;
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  inputs.insert(inputs.end(), shared.begin(), shared.end());
  for (Tensor& tensor : captured_tensors(trace.tracer(), captured)) {
    inputs.push_back(std::move(tensor));
  }
  if (inputs.size() > 31 || body.results.size() > 31) {
    throw InvalidArgument(fmt::format("[scan] {} tensors go in and {} come out; 31 at most",
                                      inputs.size(), body.results.size()));
  }
  const std::vector<std::int64_t> all(states.size(), 1);
  std::vector<Tensor> outputs = ops::call(kScan, inputs,
                                          {{"body", ops::number_of(std::move(body))},
                                           {"steps", steps},
                                           {"reverse", options.reverse},
                                           {"recorded", all}});
  ScanResult result;
  const std::int64_t last = options.reverse ? 0 : steps - 1;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    (i < states.size() ? result.states : result.ys).push_back(outputs[i]);
    if (i >= states.size()) continue;
    result.last.push_back(
        ops::reshape(ops::slice(outputs[i], 0, last, last + 1), states[i].shape()));
  }
  return result;
}

}  // namespace plimsoll
