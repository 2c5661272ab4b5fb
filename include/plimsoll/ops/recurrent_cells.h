#pragma once

#include <plimsoll/tensor/tensor.h>

// Cells of recurrent layers behind their two products, each as one op: gates, their activations and
// the new state in one pass over memory. nn/recurrent.h has layers of them.

namespace plimsoll::ops {

/// What lstm_cell gives.
struct LstmCellResult {
  Tensor h;
  Tensor c;
  /// [..., 4 * hidden]: the gates after their activations, which is all that gradients need beside
  /// the old c.
  Tensor gates;
};

/// One step of an LSTM, from what its products gave for the input and for the old h, x and s [...,
/// 4 * hidden] with the gates in the order input, forget, cell, output, and from the old c [...,
/// hidden]. All are of one dtype. Throws InvalidArgument.
///
///   c' = sigmoid(forget) * c + sigmoid(input) * tanh(cell)
///   h' = sigmoid(output) * tanh(c')
LstmCellResult lstm_cell(const Tensor& x, const Tensor& s, const Tensor& c);

/// What gru_cell gives.
struct GruCellResult {
  Tensor h;
  /// [..., 4 * hidden]: the gates reset, update and new after their activations, and s's part for
  /// the last of them, which is all that gradients need beside the old h.
  Tensor gates;
};

/// One step of a GRU, from what its products gave for the input and for the old h, x and s [...,
/// 3 * hidden] with the gates in the order reset, update, new, and from the old h [..., hidden].
/// All are of one dtype. Throws InvalidArgument.
///
///   n  = tanh(x_new + sigmoid(reset) * s_new)
///   h' = (1 - sigmoid(update)) * n + sigmoid(update) * h
GruCellResult gru_cell(const Tensor& x, const Tensor& s, const Tensor& h);

}  // namespace plimsoll::ops
