// What a trace makes of code: values by role, nodes in order, writes after reads.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/ops/variable.h>

#include "support/own_device.h"

namespace plimsoll::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.emplace_back(node.op->name);
  return names;
}

class Trace : public ::testing::Test {
 protected:
  std::int64_t count(const Graph& graph, Role role) const {
    return std::ranges::count(graph.values(), role, &Value::role);
  }
  Device cpu_ = test::own_cpu({.limit = MiB(16)});
  Tensor w_ = Tensor::from_values<float>({1, 2, 3, 4}, {2, 2}, cpu_, {.label = "table"});
};

TEST_F(Trace, HasANodeForEachOpThatLeadsToAnOutput) {
  Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, Shape{3, 2}});
  {
    const ops::DispatchScope scope(tracer);
    (void)ops::exp(x);  // leads nowhere
    tracer.output(ops::sum(ops::square(x)));
  }
  const Graph graph = tracer.finish();
  EXPECT_THAT(ops_of(graph), ElementsAre("square", "sum"));
  EXPECT_NO_THROW(graph.verify());
  ASSERT_EQ(graph.outputs().size(), 1U);
  EXPECT_EQ(graph.value(graph.outputs().front()).type.shape, Shape{});
}

TEST_F(Trace, KnowsABoundTensorByItsNameAndAnyOtherAsAConstant) {
  Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, Shape{3, 2}});
  const Tensor other = Tensor::zeros({2}, DType::f32, cpu_, {.label = "offset"});
  tracer.bind(w_, Role::parameter, Tag::parameters, "dense.weight");
  {
    const ops::DispatchScope scope(tracer);
    tracer.output(ops::add(ops::matmul(x, w_), other));
  }
  const Graph graph = tracer.finish();
  EXPECT_EQ(count(graph, Role::input), 1);
  EXPECT_EQ(count(graph, Role::parameter), 1);
  EXPECT_EQ(count(graph, Role::constant), 1);
  for (const Value& value : graph.values()) {
    if (value.role == Role::parameter) {
      EXPECT_EQ(value.name, "dense.weight");
    } else if (value.role == Role::constant) {
      EXPECT_EQ(value.name, "offset");
    }
  }
}

TEST_F(Trace, WritesComeAfterEverybodyWhoReadsTheOldValue) {
  Tracer tracer;
  tracer.bind(w_, Role::state, Tag::parameters, "mean");
  {
    const ops::DispatchScope scope(tracer);
    const Tensor before = ops::square(w_);
    ops::assign(w_, ops::scale(w_, 0.5));
    tracer.output(ops::sum(ops::add(before, w_)));  // the old one's square, and the new one
  }
  const Graph graph = tracer.finish();
  EXPECT_NO_THROW(graph.verify());
  const auto writer =
      std::ranges::find_if(graph.nodes(), [](const Node& node) { return node.op->writes != 0; });
  ASSERT_NE(writer, graph.nodes().end());
  const auto square = std::ranges::find_if(
      graph.nodes(), [](const Node& node) { return node.op->name == "square"; });
  EXPECT_THAT(writer->after,
              ::testing::Contains(static_cast<NodeId>(square - graph.nodes().begin())));
  const auto sum =
      std::ranges::find_if(graph.nodes(), [](const Node& node) { return node.op->name == "add"; });
  ASSERT_NE(sum, graph.nodes().end());
  EXPECT_EQ(sum->inputs[1], writer->outputs.front()) << "the value after the write";
}

TEST_F(Trace, WritingIntoWhatIsComputedIsRefused) {
  Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, Shape{2}});
  const ops::DispatchScope scope(tracer);
  const Tensor y = ops::square(x);
  EXPECT_THAT([&] { ops::assign(y, x); }, ::testing::ThrowsMessage<InvalidArgument>(
                                              HasSubstr("not a parameter, buffer or state")));
}

TEST_F(Trace, ValuesOfOneTraceAreNothingToAnother) {
  Tracer first;
  Tracer second;
  const Tensor x = first.input("x", {DType::f32, Shape{2}});
  EXPECT_EQ(second.find(x), kNone);
  EXPECT_THROW(second.output(x), InvalidArgument);
  const ops::DispatchScope scope(second);
  EXPECT_THAT([&] { (void)ops::square(x); },
              ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("neither of this trace")));
}

TEST_F(Trace, ReadingAVariableBindsItUnderItsName) {
  Tracer tracer;
  const Variable weight(w_, {.name = "weight"});
  {
    const ops::DispatchScope scope(tracer);
    tracer.output(ops::sum(weight.value()));
  }
  ASSERT_EQ(tracer.variables().size(), 1U);
  const Graph graph = tracer.finish();
  const Value& value = graph.value(tracer.variables().front().first);
  EXPECT_EQ(value.role, Role::parameter);
  EXPECT_EQ(value.name, "weight");
}

TEST_F(Trace, NodesKnowTheScopeTheyWereMadeIn) {
  Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, Shape{2}});
  {
    const ops::DispatchScope scope(tracer);
    const ops::NameScope encoder("encoder");
    const ops::NameScope block("block3");
    tracer.output(ops::square(x));
  }
  const Graph graph = tracer.finish();
  EXPECT_EQ(graph.nodes().front().scope, "encoder/block3");
  EXPECT_THAT(graph.to_string(), HasSubstr("@encoder/block3"));
}

TEST_F(Trace, AnImpossibleOrderIsFoundByTheCheck) {
  Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, Shape{2}});
  {
    const ops::DispatchScope scope(tracer);
    tracer.output(ops::exp(ops::square(x)));
  }
  const Graph good = tracer.finish();
  Graph bad;
  for (const Value& value : good.values()) {
    if (value.role != Role::computed) bad.add_value(value);
  }
  // The second op first: it reads what nobody has computed.
  const Node& second = good.nodes().back();
  bad.add_node({.op = second.op, .attributes = second.attributes, .inputs = second.inputs},
               std::vector<TensorType>{{DType::f32, Shape{2}}});
  EXPECT_THROW(bad.verify(), InternalError);
}

}  // namespace
}  // namespace plimsoll::graph
