// Cells of recurrent layers, beside their equations written for single numbers, with derivatives by
// way of cosh. tests/nn/recurrent_test.cpp compares layers of them with PyTorch's.
#include <cmath>

#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

double number(std::int64_t i) { return 2 * std::sin(1.7 * static_cast<double>(i) + 0.3); }
double sigmoid(double x) { return 0.5 + 0.5 * std::tanh(x / 2); }
/// Derivatives by x.
double sigmoid_slope(double x) { return 0.25 / std::pow(std::cosh(x / 2), 2); }
double tanh_slope(double x) { return 1 / std::pow(std::cosh(x), 2); }

/// Rows [..., parts * hidden], written part by part.
class Rows {
 public:
  Rows(const Shape& lead, std::int64_t hidden, std::int64_t parts)
      : shape_(lead.with_inserted(lead.rank(), parts * hidden)),
        hidden_(hidden),
        values_(static_cast<std::size_t>(shape_.elements())) {}
  Rows(const Shape& lead, std::int64_t hidden, std::int64_t parts, std::int64_t seed)
      : Rows(lead, hidden, parts) {
    for (double& value : values_) value = number(seed++);
  }
  double& at(std::int64_t row, std::int64_t part, std::int64_t i) {
    return values_[static_cast<std::size_t>(row * shape_.dim(-1) + part * hidden_ + i)];
  }
  Tensor tensor() const { return from_doubles(values_, shape_, DType::f64); }

 private:
  Shape shape_;
  std::int64_t hidden_;
  std::vector<double> values_;
};

void add_lstm(std::vector<OpCase>& cases, const Shape& lead, std::int64_t hidden) {
  Rows x(lead, hidden, 4, 1);
  Rows s(lead, hidden, 4, 400);
  Rows c(lead, hidden, 1, 800);
  Rows dh(lead, hidden, 1, 900);
  Rows dc(lead, hidden, 1, 1000);
  Rows h(lead, hidden, 1);
  Rows after(lead, hidden, 1);
  Rows gates(lead, hidden, 4);
  Rows dx(lead, hidden, 4);
  Rows dbefore(lead, hidden, 1);
  for (std::int64_t r = 0; r < lead.elements(); ++r) {
    for (std::int64_t i = 0; i < hidden; ++i) {
      const auto sum = [&](int part) { return x.at(r, part, i) + s.at(r, part, i); };
      for (const int part : {0, 1, 3}) gates.at(r, part, i) = sigmoid(sum(part));
      gates.at(r, 2, i) = std::tanh(sum(2));
      const double cell = gates.at(r, 1, i) * c.at(r, 0, i) + gates.at(r, 0, i) * gates.at(r, 2, i);
      after.at(r, 0, i) = cell;
      h.at(r, 0, i) = gates.at(r, 3, i) * std::tanh(cell);
      const double d = dc.at(r, 0, i) + dh.at(r, 0, i) * gates.at(r, 3, i) * tanh_slope(cell);
      dx.at(r, 0, i) = d * gates.at(r, 2, i) * sigmoid_slope(sum(0));
      dx.at(r, 1, i) = d * c.at(r, 0, i) * sigmoid_slope(sum(1));
      dx.at(r, 2, i) = d * gates.at(r, 0, i) * tanh_slope(sum(2));
      dx.at(r, 3, i) = dh.at(r, 0, i) * std::tanh(cell) * sigmoid_slope(sum(3));
      dbefore.at(r, 0, i) = d * gates.at(r, 1, i);
    }
  }
  cases.push_back({.op = "lstm_cell",
                   .inputs = {x.tensor(), s.tensor(), c.tensor()},
                   .outputs = {h.tensor(), after.tensor(), gates.tensor()}});
  cases.push_back({.op = "lstm_cell_grad",
                   .inputs = {gates.tensor(), c.tensor(), dh.tensor(), dc.tensor()},
                   .outputs = {dx.tensor(), dbefore.tensor()}});
}

void add_gru(std::vector<OpCase>& cases, const Shape& lead, std::int64_t hidden) {
  Rows x(lead, hidden, 3, 3);
  Rows s(lead, hidden, 3, 300);
  Rows h(lead, hidden, 1, 600);
  Rows dh(lead, hidden, 1, 700);
  Rows after(lead, hidden, 1);
  Rows gates(lead, hidden, 4);
  Rows dx(lead, hidden, 3);
  Rows ds(lead, hidden, 3);
  Rows dbefore(lead, hidden, 1);
  for (std::int64_t r = 0; r < lead.elements(); ++r) {
    for (std::int64_t i = 0; i < hidden; ++i) {
      const auto sum = [&](int part) { return x.at(r, part, i) + s.at(r, part, i); };
      const double reset = sigmoid(sum(0));
      const double update = sigmoid(sum(1));
      const double into = x.at(r, 2, i) + reset * s.at(r, 2, i);
      const double fresh = std::tanh(into);
      after.at(r, 0, i) = (1 - update) * fresh + update * h.at(r, 0, i);
      gates.at(r, 0, i) = reset;
      gates.at(r, 1, i) = update;
      gates.at(r, 2, i) = fresh;
      gates.at(r, 3, i) = s.at(r, 2, i);
      const double d = dh.at(r, 0, i);
      const double dinto = d * (1 - update) * tanh_slope(into);
      dx.at(r, 0, i) = ds.at(r, 0, i) = dinto * s.at(r, 2, i) * sigmoid_slope(sum(0));
      dx.at(r, 1, i) = ds.at(r, 1, i) = d * (h.at(r, 0, i) - fresh) * sigmoid_slope(sum(1));
      dx.at(r, 2, i) = dinto;
      ds.at(r, 2, i) = dinto * reset;
      dbefore.at(r, 0, i) = d * update;
    }
  }
  cases.push_back({.op = "gru_cell",
                   .inputs = {x.tensor(), s.tensor(), h.tensor()},
                   .outputs = {after.tensor(), gates.tensor()}});
  cases.push_back({.op = "gru_cell_grad",
                   .inputs = {gates.tensor(), h.tensor(), dh.tensor()},
                   .outputs = {dx.tensor(), ds.tensor(), dbefore.tensor()}});
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  std::vector<OpCase> cases;
  for (const auto add : {add_lstm, add_gru}) {
    add(cases, {2}, 3);
    add(cases, {1}, 1);
    add(cases, {3}, 21);
    add(cases, {}, 4);
    add(cases, {2, 2}, 2);
    add(cases, {0}, 2);
    add(cases, {2}, 0);
  }
  return cases;
});

}  // namespace
}  // namespace plimsoll::test
