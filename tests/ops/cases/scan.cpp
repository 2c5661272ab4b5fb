// scan with a body of a few ops, beside the same recurrence written as a loop over numbers.
#include <cmath>

#include <plimsoll/function/scan.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>

#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

/// h' = tanh(h w + x), y = h' x, and integers that go along.
ScanStep step(const std::vector<Tensor>& states, const std::vector<Tensor>& xs,
              const std::vector<Tensor>& shared) {
  const Tensor h = ops::tanh(ops::add(ops::mul(states[0], shared[0]), xs[0]));
  return {.states = {h, states[1]}, .ys = {ops::mul(h, xs[0])}};
}

/// The attributes that scan() gives its op for these inputs.
ops::Attributes attributes_of(const std::vector<Tensor>& in, bool reverse) {
  graph::Tracer tracer;
  std::vector<Tensor> traced;
  for (std::size_t i = 0; i < in.size(); ++i) {
    traced.push_back(tracer.input("in" + std::to_string(i), in[i].type()));
  }
  {
    const ops::DispatchScope scope(tracer);
    const ScanResult result =
        scan(step, {traced[0], traced[1]}, {traced[2]}, {traced[3]}, {.reverse = reverse});
    for (const Tensor& y : result.ys) tracer.output(y);
  }
  return tracer.finish().nodes().front().attributes;
}

OpCase case_of(std::int64_t steps, std::int64_t width, bool reverse) {
  const auto number = [](std::int64_t i) { return std::sin(1.7 * static_cast<double>(i) + 0.3); };
  std::vector<double> h;
  std::vector<double> w;
  std::vector<double> x;
  for (std::int64_t i = 0; i < width; ++i) h.push_back(number(i));
  for (std::int64_t i = 0; i < width; ++i) w.push_back(number(i + 50));
  for (std::int64_t i = 0; i < steps * width; ++i) x.push_back(number(i + 100));
  const std::vector<Tensor> inputs = {
      from_doubles(h, {width}, DType::f64), from_doubles({3, 4}, {2}, DType::i64),
      from_doubles(x, {steps, width}, DType::f64), from_doubles(w, {width}, DType::f64)};
  std::vector<double> states(x.size());
  std::vector<double> ys(x.size());
  for (std::int64_t count = 0; count < steps; ++count) {
    const std::int64_t t = reverse ? steps - 1 - count : count;
    for (std::int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<std::size_t>(t * width + i);
      const auto column = static_cast<std::size_t>(i);
      h[column] = std::tanh(h[column] * w[column] + x[at]);
      states[at] = h[column];
      ys[at] = h[column] * x[at];
    }
  }
  std::vector<double> counts;
  for (std::int64_t t = 0; t < steps; ++t) counts.insert(counts.end(), {3, 4});
  return {.op = "scan",
          .description = reverse ? "backwards" : "forwards",
          .attributes = attributes_of(inputs, reverse),
          .inputs = inputs,
          .outputs = {from_doubles(states, {steps, width}, DType::f64),
                      from_doubles(counts, {steps, 2}, DType::i64),
                      from_doubles(ys, {steps, width}, DType::f64)},
          .dtypes = false};
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  // Widths are multiples of 16 bytes, as GPUs want them.
  return {case_of(1, 4, false), case_of(2, 4, true), case_of(5, 6, false), case_of(5, 6, true),
          case_of(3, 0, false)};
});

}  // namespace
}  // namespace plimsoll::test
