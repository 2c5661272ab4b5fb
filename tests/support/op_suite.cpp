#include "support/op_suite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/plan/run_graph.h>

#include "ops/eager.h"
#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll::test {
namespace {

using ops::OpDef;

std::vector<const OpCase*> cases_of(std::string_view op) {
  std::vector<const OpCase*> cases;
  for (const OpCase& c : op_cases()) {
    if (c.op == op) cases.push_back(&c);
  }
  return cases;
}

/// Inputs of their own, so that ops that write do not spoil the case.
std::vector<Tensor> cloned(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& t : tensors) copies.push_back(t.clone(op_cases_device(), {}));
  return copies;
}

/// The same values with a gap after each element of the last dimension.
Tensor with_gaps(const Tensor& x) {
  if (x.rank() == 0) return x;
  Tensor wide = Tensor::zeros(x.shape().with_dim(-1, x.dim(-1) * 2 + 1), x.dtype(), x.device());
  const Tensor view = wide.slice(-1, 1, Tensor::kToEnd, 2);
  const Tensor dense = x.contiguous();
  const auto size = static_cast<std::int64_t>(dtype_size(x.dtype()));
  auto* to = static_cast<std::byte*>(wide.raw_mutable_data());
  const auto* from = static_cast<const std::byte*>(dense.raw_data());
  const std::int64_t width = x.dim(-1);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::int64_t at = i / width * (2 * width + 1) + i % width * 2 + 1;
    std::memcpy(to + at * size, from + i * size, static_cast<std::size_t>(size));
  }
  return view;
}

void check_recorded(const OpDef& def, const OpCase& c) {
  const auto outputs = ops::call(def, cloned(c.inputs), c.attributes);
  ASSERT_EQ(outputs.size(), c.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].shape(), c.outputs[i].shape()) << "output " << i;
    // Recorded values may have been computed in f32.
    const double share = is_floating(outputs[i].dtype()) ? 1e-9 * c.tolerance : 0;
    expect_near(as_doubles(outputs[i]), as_doubles(c.outputs[i]), share,
                fmt::format("output {} as recorded", i));
  }
}

void check_dtypes(const OpDef& def, const OpCase& c) {
  for (const DType dtype : other_dtypes(def, c)) {
    const auto [narrow, wide] = in_dtype(c, dtype);
    const auto outputs = ops::call(def, narrow, c.attributes);
    const auto expected = ops::call(def, wide, c.attributes);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      expect_near(as_doubles(outputs[i]), as_doubles(expected[i]), allowed(dtype) * c.tolerance,
                  fmt::format("output {} in {}", i, dtype_name(dtype)));
    }
  }
}

void check_gaps(const OpDef& def, const OpCase& c) {
  if (def.writes != 0) return;
  std::vector<Tensor> gapped;
  for (const Tensor& input : c.inputs) gapped.push_back(with_gaps(input));
  const auto expected = ops::call(def, c.inputs, c.attributes);
  const auto outputs = ops::call(def, gapped, c.attributes);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(same_bits(outputs[i], expected[i])) << "output " << i << " with gaps";
  }
}

void check_traced(const OpDef& def, const OpCase& c) {
  const auto expected = ops::call(def, cloned(c.inputs), c.attributes);
  graph::Tracer tracer;
  std::map<std::string, Tensor> feeds;
  std::vector<Tensor> inputs = cloned(c.inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (def.overwrites(i)) {
      tracer.bind(inputs[i], graph::Role::state, Tag::user, "s");
      continue;
    }
    const std::string name = "in" + std::to_string(i);
    feeds.emplace(name, inputs[i]);
    inputs[i] = tracer.input(name, inputs[i].type());
  }
  {
    const ops::DispatchScope scope(tracer);
    for (const Tensor& output : ops::call(def, inputs, c.attributes)) tracer.output(output);
  }
  const graph::Graph graph = tracer.finish();
  graph.verify();
  const auto outputs = plan::run_graph(graph, feeds, op_cases_device());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(same_bits(outputs[i], expected[i])) << "output " << i << " traced";
  }
}

/// Outputs and workspace that are all NaNs before the kernel runs are as any other.
void check_poisoned(const OpDef& def, const OpCase& c) {
  if (def.view || def.writes != 0) return;
  const auto expected = ops::call(def, c.inputs, c.attributes);
  const auto actual = run_poisoned(def, c.attributes, c.inputs, op_cases_device());
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(same_bits(actual[i], expected[i])) << "output " << i << " over NaNs";
  }
}

/// Where an output may be written over an input, doing so changes nothing.
void check_in_place(const OpDef& def, const OpCase& c) {
  if (def.in_place.empty() || def.writes != 0) return;
  const auto expected = ops::call(def, c.inputs, c.attributes);
  for (const ops::InPlace& pair : def.in_place) {
    const auto written = static_cast<std::size_t>(pair.output);
    const auto over = static_cast<std::size_t>(pair.input);
    if (over >= c.inputs.size() || expected[written].type() != c.inputs[over].type()) continue;
    if (expected[written].elements() == 0) continue;
    std::vector<Tensor> inputs = cloned(c.inputs);
    std::vector<Tensor> outputs = cloned(expected);
    outputs[written] = inputs[over];
    run_kernel(def, c.attributes, inputs, outputs, op_cases_device());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(same_bits(outputs[i], expected[i]))
          << "output " << i << " with output " << written << " over input " << over;
    }
  }
}

/// Sum of all floating outputs, each element with a weight of its own.
double weighed(const std::vector<Tensor>& outputs, const std::vector<Tensor>& weights) {
  double total = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!weights[i].defined()) continue;
    const auto values = as_doubles(outputs[i]);
    const auto w = as_doubles(weights[i]);
    for (std::size_t k = 0; k < values.size(); ++k) total += values[k] * w[k];
  }
  return total;
}

bool check_gradient(const OpDef& def, const OpCase& c) {
  if (!c.gradient || def.gradient == nullptr) return false;
  if (c.inputs.empty() || c.inputs.front().elements() == 0) return false;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);

  ops::GradientTape tape({.persistent = true});
  std::vector<Tensor> sources;
  for (const Tensor& input : c.inputs) {
    if (!is_floating(input.dtype())) continue;
    tape.watch(input);
    sources.push_back(input);
  }
  const auto outputs = ops::call(def, c.inputs, c.attributes);
  std::vector<Tensor> weights;
  std::vector<std::vector<double>> gradients(sources.size());
  for (std::size_t s = 0; s < sources.size(); ++s) {
    gradients[s].resize(static_cast<std::size_t>(sources[s].elements()));
  }
  for (const Tensor& output : outputs) {
    const std::size_t number = weights.size();
    weights.emplace_back();
    const auto& only = c.gradient_outputs;
    if (!is_floating(output.dtype())) continue;
    if (!only.empty() && std::find(only.begin(), only.end(), number) == only.end()) continue;
    std::vector<double> w(static_cast<std::size_t>(output.elements()));
    for (double& value : w) value = uniform(random);
    weights.back() = from_doubles(w, output.shape(), output.dtype());
    const auto parts = tape.gradient(output, sources, weights.back());
    for (std::size_t s = 0; s < sources.size(); ++s) {
      if (!parts[s].defined()) continue;
      EXPECT_EQ(parts[s].type(), sources[s].type());
      const auto values = as_doubles(parts[s]);
      for (std::size_t k = 0; k < values.size(); ++k) gradients[s][k] += values[k];
    }
  }
  tape.stop();

  std::size_t source = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (!is_floating(c.inputs[i].dtype())) continue;
    const auto values = as_doubles(c.inputs[i]);
    std::vector<double> expected;
    std::vector<double> actual;
    const std::size_t step = std::max<std::size_t>(1, values.size() / 40);
    for (std::size_t k = 0; k < values.size(); k += step) {
      const double h = 1e-5 * std::max(1.0, std::abs(values[k]));
      const auto at = [&](double x) {
        auto moved = values;
        moved[k] = x;
        auto inputs = c.inputs;
        inputs[i] = from_doubles(moved, c.inputs[i].shape(), c.inputs[i].dtype());
        return weighed(ops::call(def, inputs, c.attributes), weights);
      };
      expected.push_back((at(values[k] + h) - at(values[k] - h)) / (2 * h));
      actual.push_back(gradients[source][k]);
    }
    expect_near(actual, expected, 2e-6 * c.tolerance, fmt::format("gradient of input {}", i));
    ++source;
  }
  return true;
}

}  // namespace

void check_op(const OpDef& def) {
  const auto cases = cases_of(def.name);
  ASSERT_FALSE(cases.empty()) << "no case of it in tests/ops/recorded or tests/ops/cases";
  const ops::EagerDeviceScope device(op_cases_device());  // for ops without inputs
  bool differentiated = false;
  bool empty = false;
  for (const OpCase* c : cases) {
    SCOPED_TRACE(c->description);
    empty = empty || std::any_of(c->inputs.begin(), c->inputs.end(),
                                 [](const Tensor& t) { return t.elements() == 0; });
    check_recorded(def, *c);
    check_dtypes(def, *c);
    check_gaps(def, *c);
    check_traced(def, *c);
    check_poisoned(def, *c);
    check_in_place(def, *c);
    differentiated = check_gradient(def, *c) || differentiated;
  }
  EXPECT_TRUE(differentiated || def.gradient == nullptr) << "no case tests the gradient";
  EXPECT_TRUE(empty || def.inputs == 0) << "no case has a tensor without elements";
}

}  // namespace plimsoll::test
