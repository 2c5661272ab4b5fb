#include <plimsoll/ops/recurrent_cells.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/written_out.h"

namespace plimsoll::ops {
namespace {

using Tensors = std::vector<Tensor>;

/// Of a tensor [..., parts * hidden].
Tensors pieces_of(const Tensor& x, std::int64_t parts) {
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), x.dim(-1) / parts);
  return split(x, sizes, -1);
}

/// The type of `wide` [..., parts * hidden] with another number of parts.
TensorType with_parts(const TensorType& wide, std::int64_t parts, std::int64_t wanted) {
  return {wide.dtype, wide.shape.with_dim(-1, wide.shape.dim(-1) / parts * wanted)};
}

/// Fails unless input `input` is of that type.
void require_type(const OpInputs& inputs, int input, const TensorType& type) {
  if (inputs[input] == type) return;
  inputs.fail(fmt::format("input {} must be {}", input, type.to_string()));
}

/// Fails unless input 0 is [..., parts * hidden]; returns the type [..., hidden].
TensorType hidden_type(const OpInputs& inputs, std::int64_t parts) {
  const Shape& shape = inputs.shape(0);
  if (shape.rank() == 0 || shape.dim(-1) % parts != 0) {
    inputs.fail(fmt::format("the last dimension must be {} gates side by side", parts));
  }
  return with_parts(inputs[0], parts, 1);
}

/// A few operations for each element that is moved.
Cost cell_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  Cost cost;
  double elements = 0;
  for (const TensorType& type : inputs.types()) {
    cost.bytes += static_cast<double>(type.bytes());
    elements += static_cast<double>(type.elements());
  }
  for (const TensorType& type : outputs) cost.bytes += static_cast<double>(type.bytes());
  cost.flops = 10 * elements;
  return cost;
}

Kept cell_keeps_inputs(std::uint32_t) { return {.inputs = ~0U}; }

Tensor one_minus(const Tensor& x) { return shift(neg(x), 1); }
/// The gradient by what went into a sigmoid, or a tanh, that gave `y`.
Tensor through_sigmoid(const Tensor& dy, const Tensor& y) { return mul(dy, mul(y, one_minus(y))); }
Tensor through_tanh(const Tensor& dy, const Tensor& y) { return mul(dy, one_minus(mul(y, y))); }

// LSTM.

std::vector<TensorType> lstm_types(const OpInputs& inputs) {
  const TensorType hidden = hidden_type(inputs, 4);
  require_type(inputs, 1, inputs[0]);
  require_type(inputs, 2, hidden);
  return {hidden, hidden, inputs[0]};
}

std::vector<TensorType> lstm_grad_types(const OpInputs& inputs) {
  const TensorType hidden = hidden_type(inputs, 4);
  for (int i = 1; i < 4; ++i) require_type(inputs, i, hidden);
  return {inputs[0], hidden};
}

Tensors lstm_grad_written_out(const Tensors& in) {
  const Tensors gates = pieces_of(in[0], 4);  // input, forget, cell, output
  const Tensor after = add(mul(gates[1], in[1]), mul(gates[0], gates[2]));
  const Tensor t = tanh(after);
  const Tensor dc = add(in[3], through_tanh(mul(in[2], gates[3]), t));
  return {
      concat(
          {through_sigmoid(mul(dc, gates[2]), gates[0]), through_sigmoid(mul(dc, in[1]), gates[1]),
           through_tanh(mul(dc, gates[0]), gates[2]), through_sigmoid(mul(in[2], t), gates[3])},
          -1),
      mul(dc, gates[1])};
}

constexpr std::array<InPlace, 2> kLstmGradInPlace = {{{0, 0}, {1, 1}}};

const OpDef kLstmCellGrad = {
    .name = "lstm_cell_grad",
    .family = "recurrent",
    .summary = "the gradients of lstm_cell by x (and s) and c, of gates, c, dh and dc",
    .inputs = 4,
    .types = lstm_grad_types,
    .gradient = [](GradientContext& g) { by_written_out(g, lstm_grad_written_out); },
    .kept = cell_keeps_inputs,
    .cost = cell_cost,
    .in_place = kLstmGradInPlace,
    .cheap = true,
    .precision = Precision::keep,
};

/// A gradient by the gates themselves, which hardly anybody takes.
Tensor lstm_through_gates(const Tensor& dy, const Tensor& y) {
  const Tensors d = pieces_of(dy, 4);
  const Tensors gates = pieces_of(y, 4);
  Tensors parts;
  for (std::size_t i = 0; i < 4; ++i) {
    parts.push_back(i == 2 ? through_tanh(d[i], gates[i]) : through_sigmoid(d[i], gates[i]));
  }
  return concat(parts, -1);
}

constexpr std::array<InPlace, 3> kLstmInPlace = {{{2, 0}, {2, 1}, {1, 2}}};

const OpDef kLstmCell = {
    .name = "lstm_cell",
    .family = "recurrent",
    .summary = "a step of an LSTM behind its products x and s: h, c and the gates",
    .inputs = 3,
    .types = lstm_types,
    .gradient =
        [](GradientContext& g) {
          const Tensors inputs = {g.output(2), g.input(2), g.grad(0), g.grad(1)};
          const Tensors gradients = call(kLstmCellGrad, inputs);
          const Tensor dx = g.has_grad(2)
                                ? add(gradients[0], lstm_through_gates(g.grad(2), g.output(2)))
                                : gradients[0];
          g.set(0, dx);
          g.set(1, dx);
          g.set(2, gradients[1]);
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 4, .outputs = 4}; },
    .cost = cell_cost,
    .in_place = kLstmInPlace,
    .cheap = true,
};

// GRU.

std::vector<TensorType> gru_types(const OpInputs& inputs) {
  const TensorType hidden = hidden_type(inputs, 3);
  require_type(inputs, 1, inputs[0]);
  require_type(inputs, 2, hidden);
  return {hidden, with_parts(inputs[0], 3, 4)};
}

std::vector<TensorType> gru_grad_types(const OpInputs& inputs) {
  const TensorType hidden = hidden_type(inputs, 4);
  for (int i = 1; i < 3; ++i) require_type(inputs, i, hidden);
  const TensorType wide = with_parts(inputs[0], 4, 3);
  return {wide, wide, hidden};
}

Tensors gru_grad_written_out(const Tensors& in) {
  const Tensors gates = pieces_of(in[0], 4);  // reset, update, new, s's part of the last
  const Tensor& dh = in[2];
  const Tensor dnew = through_tanh(mul(dh, one_minus(gates[1])), gates[2]);
  const Tensor dreset = through_sigmoid(mul(dnew, gates[3]), gates[0]);
  const Tensor dupdate = through_sigmoid(mul(dh, sub(in[1], gates[2])), gates[1]);
  return {concat({dreset, dupdate, dnew}, -1), concat({dreset, dupdate, mul(dnew, gates[0])}, -1),
          mul(dh, gates[1])};
}

constexpr std::array<InPlace, 2> kGruGradInPlace = {{{2, 2}, {2, 1}}};

const OpDef kGruCellGrad = {
    .name = "gru_cell_grad",
    .family = "recurrent",
    .summary = "the gradients of gru_cell by x, s and h, of gates, h and dh",
    .inputs = 3,
    .types = gru_grad_types,
    .gradient = [](GradientContext& g) { by_written_out(g, gru_grad_written_out); },
    .kept = cell_keeps_inputs,
    .cost = cell_cost,
    .in_place = kGruGradInPlace,
    .cheap = true,
    .precision = Precision::keep,
};

/// Gradients by x and s of a gradient by the gates themselves.
std::array<Tensor, 2> gru_through_gates(const Tensor& dy, const Tensor& y) {
  const Tensors d = pieces_of(dy, 4);
  const Tensors gates = pieces_of(y, 4);
  const Tensor dnew = through_tanh(d[2], gates[2]);
  const Tensor dreset = through_sigmoid(add(d[0], mul(dnew, gates[3])), gates[0]);
  const Tensor dupdate = through_sigmoid(d[1], gates[1]);
  return {concat({dreset, dupdate, dnew}, -1),
          concat({dreset, dupdate, add(d[3], mul(dnew, gates[0]))}, -1)};
}

constexpr std::array<InPlace, 1> kGruInPlace = {{{0, 2}}};

const OpDef kGruCell = {
    .name = "gru_cell",
    .family = "recurrent",
    .summary = "a step of a GRU behind its products x and s: h and the gates",
    .inputs = 3,
    .types = gru_types,
    .gradient =
        [](GradientContext& g) {
          const Tensors inputs = {g.output(1), g.input(2), g.grad(0)};
          Tensors gradients = call(kGruCellGrad, inputs);
          if (g.has_grad(1)) {
            const std::array<Tensor, 2> more = gru_through_gates(g.grad(1), g.output(1));
            for (std::size_t i = 0; i < 2; ++i) gradients[i] = add(gradients[i], more[i]);
          }
          for (int i = 0; i < 3; ++i) g.set(i, gradients[static_cast<std::size_t>(i)]);
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 4, .outputs = 2}; },
    .cost = cell_cost,
    .in_place = kGruInPlace,
    .cheap = true,
};

constexpr std::array kRecurrentOps = {&kLstmCell, &kLstmCellGrad, &kGruCell, &kGruCellGrad};
const RegisterOps kRecurrentRegistered(kRecurrentOps);

}  // namespace

LstmCellResult lstm_cell(const Tensor& x, const Tensor& s, const Tensor& c) {
  const std::array<Tensor, 3> inputs = {x, s, c};
  Tensors outputs = call(kLstmCell, inputs);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

GruCellResult gru_cell(const Tensor& x, const Tensor& s, const Tensor& h) {
  const std::array<Tensor, 3> inputs = {x, s, h};
  Tensors outputs = call(kGruCell, inputs);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

}  // namespace plimsoll::ops
