#pragma once

#include <string>
#include <utility>
#include <vector>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/shape_ops.h>

#include "support/op_cases.h"
#include "support/op_checks.h"

// Updates of rows beside those of whole tables, for both kinds of device.

namespace plimsoll::test {

/// A table, ids that name rows of it and the gradient of what they read.
struct RowCase {
  std::string name;
  Shape table;
  std::vector<std::int64_t> ids;
  DType id_dtype = DType::i64;
  DType master = DType::f32;
  DType gradient = DType::f32;
  std::vector<std::size_t> zero = {};       ///< gradients that are 0
  std::vector<std::size_t> cancelled = {};  ///< gradients that are that before them, negated
  std::int64_t bag = 0;                     ///< ids that share a gradient; 0: none do
  std::int64_t padding_id = -1;
};

/// Many repeated ids, one row, rows of one element and of odd lengths, bags, none at all.
inline std::vector<RowCase> row_cases() {
  const auto drawn = [](std::int64_t count, std::int64_t below, std::uint64_t seed) {
    return random_indices({count}, below, seed).to_vector<std::int64_t>();
  };
  std::vector<RowCase> cases = {
      {"many duplicates", {7, 5}, drawn(400, 7, 1)},
      {"few rows of many", {100000, 3}, drawn(50, 100000, 2)},
      {"one row", {1, 33}, std::vector<std::int64_t>(70, 0)},
      {"whole vectors", {513, 64}, drawn(900, 513, 3)},
      {"long rows", {9, 700}, drawn(60, 9, 4)},
      {"rows of one element", {40, 1}, drawn(90, 40, 5)},
      {"a vector", {300}, drawn(500, 300, 6)},
      {"three dimensions", {20, 3, 4}, drawn(77, 20, 7)},
      {"no ids", {5, 4}, {}},
      {"no rows", {0, 4}, {}},
      {"rows without elements", {5, 0}, {1, 2, 1}},
      {"i32", {50, 8}, drawn(200, 50, 8), DType::i32},
      {.name = "gradients of 0",
       .table = {30, 16},
       .ids = drawn(64, 30, 9),
       .zero = {0, 1, 5, 9, 10, 11, 40, 63}},
      {.name = "sums of 0", .table = {6, 4}, .ids = {3, 3, 1, 5, 5, 3}, .cancelled = {1, 4}},
      {.name = "bags", .table = {60, 20}, .ids = drawn(350, 60, 10), .bag = 7, .padding_id = 0},
      {.name = "bags of one", .table = {60, 4}, .ids = drawn(30, 60, 11), .bag = 1},
      {.name = "bags without padding", .table = {9, 64}, .ids = drawn(300, 9, 12), .bag = 3},
      {.name = "an empty bag",
       .table = {4, 3},
       .ids = {2, 1, 2, 2, 0, 1},
       .bag = 2,
       .padding_id = 2},
      {.name = "padding alone", .table = {4, 3}, .ids = {1, 1, 1}, .bag = 3, .padding_id = 1},
      {.name = "no bags", .table = {4, 3}, .ids = {}, .bag = 3},
  };
  std::vector<RowCase> all = cases;
  for (const RowCase& c : cases) {
    for (const auto& [master, gradient] :
         {std::pair{DType::f64, DType::f64}, {DType::f32, DType::f16}, {DType::f32, DType::bf16}}) {
      RowCase other = c;
      other.master = master;
      other.gradient = gradient;
      other.name += " " + std::string(dtype_name(gradient));
      all.push_back(std::move(other));
    }
  }
  return all;
}

/// What a step changes, and what it reads, on one device.
struct RowStep {
  Tensor table, first, second, ids, rows, rate, step;
  std::int64_t bag = 0;
  std::int64_t padding_id = -1;

  /// Of the whole table.
  Tensor gradient() const {
    if (bag == 0) return ops::scatter_add(rows, ids, table.shape(), 0);
    return ops::call_one(*ops::find_op("embedding_bag_grad"), {rows, ids},
                         {{"shape", ops::to_integers(table.shape())}, {"padding_id", padding_id}});
  }
  std::vector<Tensor> written() const { return {table, first, second}; }
};

inline RowStep row_step(const RowCase& c, const Device& device) {
  const auto there = [&](const Tensor& t) { return t.clone(device, {}); };
  const auto ids = static_cast<std::int64_t>(c.ids.size());
  const std::int64_t gradients = c.bag == 0 ? ids : ids / c.bag;
  std::vector<std::int64_t> dims = {gradients};
  dims.insert(dims.end(), c.table.begin() + 1, c.table.end());
  const Shape shape{std::span<const std::int64_t>(dims)};
  std::vector<double> rows = as_doubles(random_tensor(shape, 20, c.gradient));
  const std::size_t inner = gradients == 0 ? 0 : rows.size() / static_cast<std::size_t>(gradients);
  for (const std::size_t p : c.zero) {
    for (std::size_t i = 0; i < inner; ++i) rows[p * inner + i] = i % 2 == 0 ? 0.0 : -0.0;
  }
  for (const std::size_t p : c.cancelled) {
    for (std::size_t i = 0; i < inner; ++i) rows[p * inner + i] = -rows[(p - 1) * inner + i];
  }
  std::vector<double> squares = as_doubles(random_tensor(c.table, 21, c.master));
  for (double& s : squares) s = s * s;
  const Shape id_shape = c.bag == 0 ? Shape{ids} : Shape{gradients, c.bag};
  return {there(random_tensor(c.table, 22, c.master)),
          there(random_tensor(c.table, 23, c.master)),
          there(from_doubles(squares, c.table, c.master)),
          there(from_doubles({c.ids.begin(), c.ids.end()}, id_shape, c.id_dtype)),
          there(from_doubles(rows, shape, c.gradient)),
          there(from_doubles({0.05}, {}, DType::f32)),
          there(from_doubles({3}, {}, DType::f32)),
          c.bag,
          c.padding_id};
}

/// An update that has a counterpart for rows.
struct RowRule {
  std::string op;
  int states;
  ops::Attributes attributes;

  /// By the gradient of the whole table, or by rows.
  void run(const RowStep& s, bool by_rows, const Tensor& enable = {}) const {
    std::vector<Tensor> inputs = {s.table};
    if (states > 1) inputs.push_back(s.first);
    if (states > 0) inputs.push_back(s.second);
    ops::Attributes with = attributes;
    if (by_rows) {
      inputs.insert(inputs.end(), {s.ids, s.rows});
      if (s.bag != 0) with.set("padding_id", s.padding_id);
    } else {
      inputs.push_back(s.gradient());
    }
    inputs.push_back(s.rate);
    if (states > 0) inputs.push_back(s.step);
    inputs.push_back(enable);
    ops::call(*ops::find_op(by_rows ? op + "_rows" : op), inputs, with);
  }
};

inline std::vector<RowRule> row_rules() {
  return {{"sgd_update", 0, {{"weight_decay", 0.0}}},
          {"adagrad_update", 1, {{"lr_decay", 0.1}, {"epsilon", 1e-7}, {"weight_decay", 0.0}}},
          {"lazy_adam_update",
           2,
           {{"beta1", 0.8},
            {"beta2", 0.95},
            {"epsilon", 1e-6},
            {"weight_decay", 0.0},
            {"decoupled", false}}}};
}

}  // namespace plimsoll::test
