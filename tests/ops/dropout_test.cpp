#include <cmath>

#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/plan/run_graph.h>

#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using ops::RandomKey;
using ops::RandomScope;
using test::as_doubles;
using test::complaint;
using test::same_bits;

Tensor ones(std::int64_t count, DType dtype = DType::f32) {
  return test::from_doubles(std::vector<double>(static_cast<std::size_t>(count), 1.0), {count},
                            dtype);
}

TEST(Dropout, TheGradientHasTheSameMaskAndNothingIsKept) {
  const RandomScope scope({.seed = 9});
  const Tensor x = ones(1000);
  ops::GradientTape tape;
  tape.watch(x);
  const Tensor y = ops::dropout(x, 0.3);
  EXPECT_TRUE(same_bits(tape.gradient(y, x), y));
  EXPECT_EQ(ops::find_op("dropout")->kept, nullptr);
}

TEST(Dropout, TracedAndRecomputedItIsTheSame) {
  const Tensor x = ones(1000);
  const RandomKey key{.seed = 10, .step = 11};
  graph::Tracer tracer;
  const Tensor input = tracer.input("x", x.type());
  {
    const ops::DispatchScope scope(tracer);
    const RandomScope random({});
    ops::GradientTape tape;
    tape.watch(input);
    ops::dropout(input, 0.5);
    const Tensor y = ops::dropout(input, 0.5);
    tracer.output(y);
    tracer.output(tape.gradient(y, input));
  }
  graph::Graph graph = tracer.finish();
  // The same node once more, as a planner does that recomputes.
  const graph::Node again = graph.nodes().front();
  const TensorType type = x.type();
  const graph::NodeId added = graph.add_node(
      {.op = again.op, .attributes = again.attributes, .inputs = again.inputs}, {&type, 1});
  graph.add_output(graph.node(added).outputs.front());
  const auto results = plan::run_graph(graph, {{"x", x}}, test::op_cases_device(), {.random = key});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(same_bits(results[0], results[1]));
  EXPECT_TRUE(same_bits(results[0], results[2]));
  const RandomScope random(key);
  ops::dropout(x, 0.5);
  EXPECT_TRUE(same_bits(results[0], ops::dropout(x, 0.5)));
}

TEST(Dropout, RatesOutsideAreRefusedAndZeroIsX) {
  const Tensor x = ones(4);
  EXPECT_EQ(ops::dropout(x, 0).id(), x.id());
  EXPECT_EQ(as_doubles(ops::dropout(ones(0), 0.5)).size(), 0U);
  for (const double rate : {1.0, -0.1, std::nan("")}) {
    EXPECT_NE(complaint([&] {
                ops::dropout(x, rate);
              }).find("[dropout] the rate must be at least 0 and below 1"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace plimsoll
