// Adagrad, lazy Adam and updates of rows beside the same written out.
#include <algorithm>
#include <cmath>

#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

constexpr double kRate = 0.125;
constexpr double kStep = 3;
constexpr double kEpsilon = 1e-3;
constexpr double kDecay = 0.25;  ///< of the rate
constexpr double kBeta1 = 0.75;
constexpr double kBeta2 = 0.875;
constexpr std::size_t kFeatures = 3;

using Values = std::vector<double>;

/// A table [4,3], its state, and gradients of the rows {2,0,2}.
const Values kTable = {1, -2, 0.5, 3, 0, 7, -1, 0.25, 2, 4, -5, 6};
const Values kFirst = {0.5, 0.25, -1, 2, 1, 0, -0.5, 3, 0.125, 1, 1, 1};
const Values kSecond = {0.25, 1, 2, 0.5, 4, 1, 9, 0.125, 3, 1, 2, 3};
const Values kIds = {2, 0, 2};
const Values kRows = {0.5, -1, 2, 0.75, 0.25, -3, 1, 1, -0.5};

Values summed() {
  Values g(kTable.size(), 0);
  for (std::size_t p = 0; p < kIds.size(); ++p) {
    for (std::size_t i = 0; i < kFeatures; ++i) {
      g[static_cast<std::size_t>(kIds[p]) * kFeatures + i] += kRows[p * kFeatures + i];
    }
  }
  return g;
}

/// Table and state after a step by the gradient `g`.
struct After {
  Values table = kTable;
  Values first = kFirst;
  Values second = kSecond;
};

After sgd(const Values& g) {
  After a;
  for (std::size_t i = 0; i < g.size(); ++i) a.table[i] -= kRate * g[i];
  return a;
}

After adagrad(const Values& g) {
  After a;
  const double rate = kRate / (1 + kDecay * (kStep - 1));
  for (std::size_t i = 0; i < g.size(); ++i) {
    a.second[i] += g[i] * g[i];
    a.table[i] -= rate * g[i] / (std::sqrt(a.second[i]) + kEpsilon);
  }
  return a;
}

After lazy_adam(const Values& g) {
  After a;
  for (std::size_t i = 0; i < g.size(); ++i) {
    const auto row = g.begin() + static_cast<std::ptrdiff_t>(i / kFeatures * kFeatures);
    if (std::all_of(row, row + kFeatures, [](double x) { return x == 0; })) continue;
    a.first[i] = kBeta1 * a.first[i] + (1 - kBeta1) * g[i];
    a.second[i] = kBeta2 * a.second[i] + (1 - kBeta2) * g[i] * g[i];
    const double mean = a.first[i] / (1 - std::pow(kBeta1, kStep));
    const double square = a.second[i] / (1 - std::pow(kBeta2, kStep));
    a.table[i] -= kRate * mean / (std::sqrt(square) + kEpsilon);
  }
  return a;
}

const ops::Attributes kSgdAttributes = {{"weight_decay", 0.0}};
const ops::Attributes kAdagradAttributes = {
    {"lr_decay", kDecay}, {"epsilon", kEpsilon}, {"weight_decay", 0.0}};
const ops::Attributes kAdamAttributes = {{"beta1", kBeta1},
                                         {"beta2", kBeta2},
                                         {"epsilon", kEpsilon},
                                         {"weight_decay", 0.0},
                                         {"decoupled", false}};

Tensor scalar(double value) { return from_doubles({value}, {}, DType::f32); }

/// What is left of a table [4,3], or of one without rows.
struct Sizes {
  Shape table, ids, rows;
};
const std::vector<Sizes> kSizes = {{{4, 3}, {3}, {3, 3}}, {{0, 3}, {0}, {0, 3}}};

OpCase case_of(const std::string& op, const ops::Attributes& attributes, const After& after,
               const Sizes& sizes) {
  const bool empty = sizes.table[0] == 0;
  const auto table = [&](const Values& values) {
    return from_doubles(empty ? Values() : values, sizes.table, DType::f64);
  };
  OpCase c{.op = op, .description = sizes.table.to_string(), .attributes = attributes};
  c.inputs = {table(kTable)};
  c.outputs = {table(after.table)};
  if (attributes.has("beta1")) {
    c.inputs.push_back(table(kFirst));
    c.outputs.push_back(table(after.first));
  }
  if (attributes.has("epsilon")) {
    c.inputs.push_back(table(kSecond));
    c.outputs.push_back(table(after.second));
  }
  if (op.ends_with("_rows")) {
    c.inputs.push_back(from_doubles(empty ? Values() : kIds, sizes.ids, DType::i64));
    c.inputs.push_back(from_doubles(empty ? Values() : kRows, sizes.rows, DType::f64));
  } else {
    c.inputs.push_back(table(summed()));
  }
  c.inputs.push_back(scalar(kRate));
  if (attributes.has("epsilon")) c.inputs.push_back(scalar(kStep));
  return c;
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  std::vector<OpCase> all;
  for (const Sizes& sizes : kSizes) {
    all.push_back(case_of("adagrad_update", kAdagradAttributes, adagrad(summed()), sizes));
    all.push_back(case_of("lazy_adam_update", kAdamAttributes, lazy_adam(summed()), sizes));
    all.push_back(case_of("sgd_update_rows", kSgdAttributes, sgd(summed()), sizes));
    all.push_back(case_of("adagrad_update_rows", kAdagradAttributes, adagrad(summed()), sizes));
    all.push_back(case_of("lazy_adam_update_rows", kAdamAttributes, lazy_adam(summed()), sizes));
  }
  return all;
});

}  // namespace
}  // namespace plimsoll::test
