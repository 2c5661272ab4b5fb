#include "function/scan_gradient.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/tape.h>

#include "function/scan_edit.h"
#include "function/scan_trace.h"

namespace plimsoll::scanning {
namespace {

using ops::body_of;
using ops::GradientContext;
using ops::ScanBody;

/// The body's ops, called on tensors of the mode in force. They are of their dtypes already.
std::vector<Tensor> replay(const ScanBody& body, std::vector<Tensor> values) {
  const ops::PrecisionScope plain(DType::f32);
  values.resize(body.types.size());
  for (const ScanBody::Node& node : body.nodes) {
    std::vector<Tensor> in;
    for (const int value : node.inputs) in.push_back(values[static_cast<std::size_t>(value)]);
    const std::vector<Tensor> out = ops::call(*node.op, in, node.attributes);
    for (std::size_t i = 0; i < out.size(); ++i) {
      values[static_cast<std::size_t>(node.outputs[i])] = out[i];
    }
  }
  std::vector<Tensor> results;
  for (const int value : body.results) results.push_back(values[static_cast<std::size_t>(value)]);
  return results;
}

DType sum_dtype(DType dtype) { return dtype == DType::f64 ? dtype : DType::f32; }

Tensor zeros(const Tensor& like, const TensorType& type) {
  return ops::full_like_type(like, type, 0);
}

/// What a gradient is taken of, by and with: numbers of the op's inputs and outputs.
struct Wanted {
  std::vector<int> states;  ///< floating ones
  std::vector<int> xs;      ///< of which gradients are needed
  std::vector<int> shared;
  std::vector<int> given;  ///< outputs that have gradients

  Wanted(const GradientContext& g, const ScanBody& body) {
    const auto floating = [&](int i) { return is_floating(body.type(i).dtype); };
    for (int i = 0; i < body.states; ++i) {
      if (floating(i)) states.push_back(i);
    }
    for (int i = body.states; i < body.inputs(); ++i) {
      if (!floating(i) || !g.needs(i)) continue;
      (i < body.states + body.xs ? xs : shared).push_back(i);
    }
    for (int i = 0; i < static_cast<int>(body.results.size()); ++i) {
      if (g.has_grad(i) && is_floating(body.result_type(i).dtype)) given.push_back(i);
    }
  }
};

/// One step back: from the states before a step and the gradients by those after it to the
/// gradients by the states before. Its states are these, and the sums of gradients by what of the
/// shared is in `summed`; its xs are the xs, the gradients that were given and what the step gave,
/// which is read instead of being computed again; its ys the gradients by the xs, then those by the
/// rest of what is shared.
ScanBody backward_body(const ScanBody& body, const Wanted& wanted, const std::vector<int>& summed) {
  BodyTrace trace;
  std::map<int, Tensor> seeds;  // by result
  const ops::DispatchScope scope(trace.tracer());
  const ops::PrecisionScope plain(DType::f32);
  for (const int i : wanted.states) seeds[i] = trace.add(trace.states, body.type(i));
  std::map<int, Tensor> sums;  // by what is shared
  for (const int i : summed) {
    const TensorType& type = body.type(i);
    sums[i] = trace.add(trace.states, {sum_dtype(type.dtype), type.shape});
  }
  for (int i = 0; i < body.states; ++i) trace.add(trace.delayed, body.type(i));
  for (int i = body.states; i < body.states + body.xs; ++i) trace.add(trace.xs, body.type(i));
  for (const int i : wanted.given) {
    const Tensor given = trace.add(trace.xs, body.result_type(i));
    seeds[i] = seeds.contains(i) ? ops::add(seeds[i], given) : given;
  }
  std::vector<Tensor> known;
  for (int i = 0; i < static_cast<int>(body.results.size()); ++i) {
    known.push_back(trace.add(trace.xs, body.result_type(i)));
  }
  for (int i = body.states + body.xs; i < body.inputs(); ++i) {
    trace.add(trace.shared, body.type(i));
  }

  std::vector<Tensor> values = trace.delayed;
  values.insert(values.end(), trace.xs.begin(), trace.xs.begin() + body.xs);
  values.insert(values.end(), trace.shared.begin(), trace.shared.end());
  std::vector<Tensor> sources;
  for (const auto* kind : {&wanted.states, &wanted.xs, &wanted.shared}) {
    for (const int i : *kind) sources.push_back(values[static_cast<std::size_t>(i)]);
  }
  ops::GradientTape tape;
  tape.watch(sources);
  const std::vector<Tensor> again = replay(body, values);
  std::vector<Tensor> targets;
  std::vector<Tensor> weights;
  for (const auto& [i, seed] : seeds) {
    targets.push_back(again[static_cast<std::size_t>(i)]);
    weights.push_back(seed);
  }
  const std::vector<Tensor> gradients = tape.gradient(targets, sources, weights);

  std::vector<Tensor> results;
  std::vector<Tensor> ys;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Tensor gradient = gradients[i].defined() ? gradients[i] : ops::zeros_like(sources[i]);
    const std::size_t behind = wanted.states.size() + wanted.xs.size();
    const int shared = i < behind ? -1 : wanted.shared[i - behind];
    if (i < wanted.states.size()) {
      results.push_back(gradient);
    } else if (const auto sum = sums.find(shared); sum != sums.end()) {
      const Tensor& before = sum->second;
      results.push_back(
          gradients[i].defined() ? ops::add(before, ops::cast(gradient, before.dtype())) : before);
    } else {
      ys.push_back(gradient);
    }
  }
  results.insert(results.end(), ys.begin(), ys.end());
  std::vector<graph::ValueId> captured;
  ScanBody made = trace.finish(results, captured);
  if (!captured.empty()) throw InternalError("[scan] a gradient took up a tensor of its own");
  for (std::size_t i = 0; i < known.size(); ++i) {
    const int value = trace.number_of(again[i]);
    if (value >= 0) read_instead(made, value, trace.number_of(known[i]));
  }
  drop_unused(made);
  return made;
}

/// A factor of a product that all steps have: where its stack is to be found outside.
struct Factor {
  enum class From : std::uint8_t { result, x, before, after };
  From from = From::result;
  int number = 0;   ///< of the body's results; of the forward body's xs, states or results
  TensorType type;  ///< in each step
};
/// The gradient by something shared as the sum of first^T second over all steps.
struct Product {
  Factor first;
  Factor second;
  ops::Attributes attributes;
};

/// The backward body's nodes by what they give.
using Producers = std::map<int, const ScanBody::Node*>;
Producers producers_of(const ScanBody& body) {
  Producers producers;
  for (const ScanBody::Node& node : body.nodes) {
    for (const int value : node.outputs) producers[value] = &node;
  }
  return producers;
}

/// Finds `value` of the backward body outside; adds it to the results if it is nowhere. nullopt if
/// it is the same in all steps, a state, or a gradient that was given. `body` is the forward one.
std::optional<Factor> factor_of(ScanBody& back, const Producers& producers, int value,
                                const ScanBody& body) {
  Factor factor{.type = back.type(value)};
  int root = value;
  for (auto at = producers.find(root); at != producers.end() && at->second->op->view;
       at = producers.find(root)) {
    root = at->second->inputs.front();
  }
  const int x = root - back.states - back.delayed;
  const int after = x - back.xs + static_cast<int>(body.results.size());
  if (root < back.states || (x >= back.xs && root < back.inputs())) return std::nullopt;
  if (root < back.inputs()) {
    if (x >= body.xs && after < 0) return std::nullopt;
    factor.from = x < 0         ? Factor::From::before
                  : x < body.xs ? Factor::From::x
                                : Factor::From::after;
    factor.number = x < 0 ? root - back.states : x < body.xs ? x : after;
    return factor;
  }
  const auto known = std::ranges::find(back.results, root);
  factor.number = static_cast<int>(known - back.results.begin());
  if (factor.number < back.states) return std::nullopt;  // of these only the last is kept
  if (known == back.results.end()) back.results.push_back(root);
  return factor;
}

/// The product that `value` of the backward body is, if it is one of matrices whose rows are added
/// up.
std::optional<Product> product_of(ScanBody& back, int value, const ScanBody& body) {
  const Producers producers = producers_of(back);
  const auto node = producers.find(value);
  if (node == producers.end() || node->second->op->name != "matmul") return std::nullopt;
  const ops::Attributes& attributes = node->second->attributes;
  if (!attributes.flag("transpose_a") || attributes.flag("transpose_b")) return std::nullopt;
  const std::vector<int> inputs = node->second->inputs;
  if (back.type(inputs[0]).shape.rank() != 2 || back.type(inputs[1]).shape.rank() != 2) {
    return std::nullopt;
  }
  const std::vector<int> before = back.results;
  const auto first = factor_of(back, producers, inputs[0], body);
  const auto second = factor_of(back, producers, inputs[1], body);
  if (first && second) return Product{*first, *second, attributes};
  back.results = before;
  return std::nullopt;
}

/// The backward body, and what is left to do behind it.
struct Backward {
  ScanBody body;
  BodyInputs inputs;                ///< what of backward_body's inputs it has
  std::vector<int> summed;          ///< shared inputs whose gradients are states of it
  std::map<int, Product> products;  ///< of the others
};

Backward backward_of(const ScanBody& body, const Wanted& wanted) {
  // Whether a gradient is a product is seen from a body that sums nothing up.
  Backward result;
  ScanBody back = backward_body(body, wanted, {});
  std::size_t next = wanted.states.size() + wanted.xs.size();
  for (const int i : wanted.shared) {
    ScanBody tried = back;
    if (!product_of(tried, back.results[next++], body)) result.summed.push_back(i);
  }
  if (!result.summed.empty()) back = backward_body(body, wanted, result.summed);
  // Of the results, those by what is shared and not summed up come last: their factors take their
  // place.
  const auto first =
      static_cast<std::ptrdiff_t>(wanted.states.size() + result.summed.size() + wanted.xs.size());
  const std::vector<int> products(back.results.begin() + first, back.results.end());
  back.results.erase(back.results.begin() + first, back.results.end());
  next = 0;
  for (const int i : wanted.shared) {
    if (std::ranges::find(result.summed, i) != result.summed.end()) continue;
    std::optional<Product> product = product_of(back, products[next++], body);
    if (!product) throw InternalError("[scan] what was a product is none");
    result.products.emplace(i, std::move(*product));
  }
  drop_unused(back);
  result.inputs = drop_unused_inputs(back);
  result.body = std::move(back);
  return result;
}

/// A factor of all steps, [steps * rows, columns].
Tensor stack_of(const Factor& factor, const GradientContext& g, const ScanBody& body,
                const std::vector<Tensor>& outputs) {
  const std::int64_t steps = g.attributes().integer("steps");
  Tensor stack;
  if (factor.from == Factor::From::result) {
    stack = outputs[static_cast<std::size_t>(factor.number)];
  } else if (factor.from == Factor::From::x) {
    stack = g.input(body.states + factor.number);
  } else if (factor.from == Factor::From::after) {
    stack = g.output(factor.number);
  } else {
    const Tensor& first = g.input(factor.number);
    const Tensor one = ops::reshape(first, first.shape().with_inserted(0, 1));
    const Tensor& all = g.output(factor.number);
    stack = g.attributes().flag("reverse")
                ? ops::concat({ops::slice(all, 0, 1), one}, 0)
                : ops::concat({one, ops::slice(all, 0, 0, steps - 1)}, 0);
  }
  return ops::reshape(stack, Shape{steps * factor.type.shape[0], factor.type.shape[1]});
}

}  // namespace

void scan_gradient(GradientContext& g) {
  const ScanBody& body = body_of(g.attributes().integer("body"));
  // A gradient does not have all of its states.
  const std::vector<std::int64_t>& recorded = g.attributes().integers("recorded");
  if (recorded.empty() || std::ranges::find(recorded, 0) != recorded.end()) {
    throw InvalidArgument("[scan] has no second derivatives; unroll the steps instead");
  }
  const Wanted wanted(g, body);
  const Backward backward = backward_of(body, wanted);
  const ScanBody& back = backward.body;
  const Tensor& like = g.input(0);
  std::vector<Tensor> inputs;
  for (int i = 0; i < back.states; ++i) inputs.push_back(zeros(like, back.type(i)));
  for (const int i : backward.inputs.delayed) inputs.push_back(g.input(i));
  for (const int i : backward.inputs.delayed) inputs.push_back(g.output(i));
  const int given = static_cast<int>(wanted.given.size());
  for (const int x : backward.inputs.xs) {
    const int behind = x - body.xs;
    inputs.push_back(behind < 0       ? g.input(body.states + x)
                     : behind < given ? g.grad(wanted.given[static_cast<std::size_t>(behind)])
                                      : g.output(behind - given));
  }
  for (const int i : backward.inputs.shared) inputs.push_back(g.input(body.states + body.xs + i));
  const std::vector<std::int64_t> last_only(static_cast<std::size_t>(back.states), 0);
  const std::vector<Tensor> outputs = ops::call(*ops::find_op("scan"), inputs,
                                                {{"body", ops::number_of(back)},
                                                 {"steps", g.attributes().integer("steps")},
                                                 {"reverse", !g.attributes().flag("reverse")},
                                                 {"recorded", last_only}});
  std::size_t next = 0;
  for (const int i : wanted.states) {
    const Tensor& gradient = outputs[next++];
    if (g.needs(i)) g.set(i, gradient);
  }
  for (const int i : backward.summed) g.set(i, ops::cast(outputs[next++], body.type(i).dtype));
  for (const int i : wanted.xs) g.set(i, outputs[next++]);
  for (const auto& [i, product] : backward.products) {
    g.set(i, ops::call_one(*ops::find_op("matmul"),
                           {stack_of(product.first, g, body, outputs),
                            stack_of(product.second, g, body, outputs)},
                           product.attributes));
  }
}

}  // namespace plimsoll::scanning
