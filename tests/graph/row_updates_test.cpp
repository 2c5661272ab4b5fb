// Which tables are updated by the rows that were read: the same bits in any case.
#include <plimsoll/graph/row_updates.h>

#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/embedding_bag.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/plan/run_graph.h>

#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using graph::Graph;

constexpr std::int64_t kRows = 50;
constexpr std::int64_t kFeatures = 6;

int count(const Graph& graph, std::string_view op) {
  return static_cast<int>(std::ranges::count_if(
      graph.nodes(), [&](const graph::Node& node) { return node.op->name == op; }));
}

struct Step {
  Tensor table, sum, first, ids, other, rate, step;
};
using Forward = std::function<Tensor(const Step& s)>;
using Update = std::function<void(const Step& s, const Tensor& gradient)>;

/// What is traced, and the tensors that it changes.
struct Traced {
  Graph graph;
  std::vector<Tensor> state;
};

Traced trace_rows(const Forward& forward, const Update& update, bool give_gradient = false) {
  Step s{.table = test::random_tensor({kRows, kFeatures}, 1),
         .sum = ops::square(test::random_tensor({kRows, kFeatures}, 2)),
         .first = test::random_tensor({kRows, kFeatures}, 3),
         .rate = test::from_doubles({0.1}, {}, DType::f32),
         .step = test::from_doubles({2}, {}, DType::f32)};
  graph::Tracer tracer;
  tracer.bind(s.table, graph::Role::parameter, Tag::parameters, "table");
  for (const Tensor& state : {s.sum, s.first, s.rate, s.step}) {
    tracer.bind(state, graph::Role::state, Tag::optimizer, "state");
  }
  s.ids = tracer.input("ids", {DType::i64, {4, 9}});
  s.other = tracer.input("other", {DType::i64, {30}});
  const ops::DispatchScope scope(tracer);
  ops::GradientTape tape;
  tape.watch(std::vector<Tensor>{s.table});
  const Tensor loss = forward(s);
  const Tensor gradient = tape.gradient(loss, std::vector<Tensor>{s.table}).front();
  tracer.output(loss);
  if (give_gradient) tracer.output(gradient);
  update(s, gradient);
  return {tracer.finish(), {s.table, s.sum, s.first}};
}

Tensor read_once(const Step& s) {
  return ops::sum(ops::square(ops::tanh(ops::embedding(s.table, s.ids))));
}
void sgd(const Step& s, const Tensor& gradient) {
  ops::sgd_update(s.table, {}, gradient, s.rate, {});
}

/// Runs both for two steps from the same values: the same bits. Returns the graph of rows.
Graph checked_rows(const Forward& forward, const Update& update, bool give_gradient = false) {
  std::vector<std::vector<Tensor>> results;
  Graph after;
  for (const bool rows : {false, true}) {
    Traced traced = trace_rows(forward, update, give_gradient);
    if (rows) {
      after = graph::with_row_updates(traced.graph);
      after.verify();
    }
    const Graph& graph = rows ? after : traced.graph;
    std::vector<Tensor> all;
    for (std::uint64_t step = 0; step < 2; ++step) {
      const std::map<std::string, Tensor> feeds = {
          {"ids", test::random_indices({4, 9}, kRows, 5 + step)},
          {"other", test::random_indices({30}, kRows, 8 + step)}};
      for (const Tensor& t : plan::run_graph(graph, feeds, test::op_cases_device())) {
        all.push_back(t);
      }
    }
    all.insert(all.end(), traced.state.begin(), traced.state.end());
    results.push_back(all);
  }
  EXPECT_EQ(results[0].size(), results[1].size());
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_TRUE(test::same_bits(results[0][i], results[1][i])) << i << "\n" << after.to_string();
  }
  return after;
}

void expect_rows(const Graph& graph, std::string_view op) {
  EXPECT_EQ(count(graph, op), 1) << graph.to_string();
  EXPECT_EQ(count(graph, "scatter_add"), 0) << graph.to_string();
  for (const graph::Node& node : graph.nodes()) {
    if (node.op->writes != 0) continue;
    for (const graph::ValueId v : node.outputs) {
      EXPECT_LT(graph.value(v).type.elements(), kRows * kFeatures)
          << node.op->name << " makes something of the table's size";
    }
  }
}
void expect_whole(const Graph& graph) {
  EXPECT_GE(count(graph, "scatter_add"), 1) << graph.to_string();
  for (const char* op : {"sgd_update_rows", "adagrad_update_rows", "lazy_adam_update_rows"}) {
    EXPECT_EQ(count(graph, op), 0) << graph.to_string();
  }
}

TEST(RowUpdatesOfGraphs, TablesThatAreReadOnceAreUpdatedByRows) {
  expect_rows(checked_rows(read_once, sgd), "sgd_update_rows");
  expect_rows(checked_rows(read_once,
                           [](const Step& s, const Tensor& gradient) {
                             ops::adagrad_update(s.table, s.sum, gradient, s.rate, s.step, {});
                           }),
              "adagrad_update_rows");
  expect_rows(checked_rows(read_once,
                           [](const Step& s, const Tensor& gradient) {
                             ops::lazy_adam_update(s.table, s.first, s.sum, gradient, s.rate,
                                                   s.step, {});
                           }),
              "lazy_adam_update_rows");
}

TEST(RowUpdatesOfGraphs, BagsAreUpdatedByRows) {
  const auto bags = [](const Step& s) {
    return ops::sum(ops::square(ops::tanh(ops::embedding_bag(s.table, s.ids, 7))));
  };
  const Graph graph = checked_rows(bags, sgd);
  expect_rows(graph, "sgd_update_rows");
  EXPECT_EQ(count(graph, "embedding_bag_grad"), 0);
  const Graph whole = checked_rows(bags, sgd, true);
  EXPECT_EQ(count(whole, "embedding_bag_grad"), 1);
}

TEST(RowUpdatesOfGraphs, ValuesKeepTheirIds) {
  const Traced traced = trace_rows(read_once, sgd);
  const Graph after = graph::with_row_updates(traced.graph);
  ASSERT_EQ(after.values().size(), traced.graph.values().size());
  EXPECT_EQ(after.outputs(), traced.graph.outputs());
  for (std::size_t v = 0; v < after.values().size(); ++v) {
    EXPECT_EQ(after.values()[v].type, traced.graph.values()[v].type);
    EXPECT_EQ(after.values()[v].name, traced.graph.values()[v].name);
    EXPECT_EQ(after.values()[v].memory, traced.graph.values()[v].memory);
  }
}

TEST(RowUpdatesOfGraphs, OtherReadersKeepTheWholeGradient) {
  // Two gathers.
  expect_whole(checked_rows(
      [](const Step& s) {
        return ops::add(read_once(s), ops::sum(ops::tanh(ops::embedding(s.table, s.other))));
      },
      sgd));
  // A tied weight.
  expect_whole(checked_rows(
      [](const Step& s) {
        const Tensor x = ops::embedding(s.table, s.other);
        return ops::sum(ops::tanh(ops::matmul(x, ops::transpose(s.table, {1, 0}))));
      },
      sgd));
  // A penalty.
  expect_whole(checked_rows(
      [](const Step& s) { return ops::add(read_once(s), ops::sum(ops::square(s.table))); }, sgd));
  // Given out.
  expect_whole(checked_rows(read_once, sgd, true));
  // Clipped.
  expect_whole(checked_rows(read_once, [](const Step& s, const Tensor& gradient) {
    sgd(s, ops::clip(gradient, -0.1, 0.1));
  }));
  // Along another dimension.
  EXPECT_EQ(count(checked_rows(
                      [](const Step& s) {
                        const Tensor columns = ops::full({3}, 2, DType::i64, s.table.device());
                        return ops::sum(ops::square(ops::gather(s.table, columns, 1)));
                      },
                      sgd),
                  "sgd_update_rows"),
            0);
}

TEST(RowUpdatesOfGraphs, UpdatesThatMoveOtherRowsStay) {
  expect_whole(checked_rows(read_once, [](const Step& s, const Tensor& gradient) {
    ops::sgd_update(s.table, {}, gradient, s.rate, {.weight_decay = 0.1});
  }));
  expect_whole(checked_rows(read_once, [](const Step& s, const Tensor& gradient) {
    ops::sgd_update(s.table, s.first, gradient, s.rate, {.momentum = 0.9});
  }));
  expect_whole(checked_rows(read_once, [](const Step& s, const Tensor& gradient) {
    ops::adam_update(s.table, s.first, s.sum, gradient, s.rate, s.step, {});
  }));
  expect_whole(checked_rows(read_once, [](const Step& s, const Tensor& gradient) {
    ops::adagrad_update(s.table, s.sum, gradient, s.rate, s.step, {.epsilon = 0});
  }));
}

TEST(RowUpdatesOfGraphs, IdsThatAreWrittenAreReadInTime) {
  // Ids in a buffer that the step itself changes before the update.
  const Tensor ids = test::random_indices({12}, kRows, 3);
  const Tensor table = test::random_tensor({kRows, kFeatures}, 1);
  const Tensor rate = test::from_doubles({0.1}, {}, DType::f32);
  graph::Tracer tracer;
  tracer.bind(table, graph::Role::parameter, Tag::parameters, "table");
  tracer.bind(ids, graph::Role::state, Tag::user, "ids");
  tracer.bind(rate, graph::Role::state, Tag::optimizer, "rate");
  {
    const ops::DispatchScope scope(tracer);
    ops::GradientTape tape;
    tape.watch(std::vector<Tensor>{table});
    const Tensor loss = ops::sum(ops::square(ops::embedding(table, ids)));
    const Tensor gradient = tape.gradient(loss, std::vector<Tensor>{table}).front();
    tracer.output(loss);
    ops::assign(ids, ops::add(ids, ids));
    ops::sgd_update(table, {}, gradient, rate, {});
  }
  expect_whole(graph::with_row_updates(tracer.finish()));
}

}  // namespace
}  // namespace plimsoll
