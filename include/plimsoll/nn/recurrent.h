#pragma once

#include <plimsoll/nn/module.h>

// Recurrent layers over x [n, steps, features], with PyTorch's names and layout of weights:
// weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, with "_reverse" behind those of the other
// direction. One product serves the inputs of all steps; then every step is a product and the cell.
//
// All steps are one op (function/scan.h), whose gradient is another: a graph grows with layers and
// not with steps. A step is a product and a cell (ops/recurrent_cells.h). For gradients the states
// and, of an LSTM and a GRU, the gates of all steps are kept, 4 * hidden numbers for each step; no
// product is computed again. If a state is not a multiple of 16 bytes, steps are unrolled instead:
// a few nodes for each step, and as many again for gradients.

namespace plimsoll::nn {

struct RecurrentOptions {
  std::int64_t in = 0;  ///< features that come in; 0: those of the first input
  std::int64_t layers = 1;
  bool bidirectional = false;
  bool bias = true;
  /// Between layers, in training.
  double dropout = 0;
};

/// What a layer ends with, and may start with: [layers * directions, n, hidden].
struct RecurrentState {
  Tensor h;
  Tensor c;  ///< of an LSTM; undefined for others
};

struct RecurrentResult {
  Tensor y;  ///< [n, steps, directions * hidden]: what the last layer gave at each step
  RecurrentState state;
};

/// What one step of a recurrent layer gives.
struct RecurrentStep {
  RecurrentState state;  ///< [n, hidden]
  Tensor gates;          ///< what gradients need beside the states; undefined if nothing
};

/// What LSTM, GRU and SimpleRNN have in common.
///
/// forward(x) is y. forward_all({x}) and forward_all({x, lengths}) give {y, h} (an LSTM's {y, h,
/// c}). `lengths` [n] (i32 or i64) says how many steps of each sequence count: states stay as they
/// are in the others, y is 0 there, and the other direction begins at each one's last step that
/// counts.
class Recurrent : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
  Tensors forward_all(const Tensors& inputs) const override;
  /// All of it: with lengths and a first state where they are defined, else all steps from zeros.
  RecurrentResult run(const Tensor& x, const Tensor& lengths = {},
                      const RecurrentState& first = {}) const;

 protected:
  /// `gates`: rows of the weights for each hidden element.
  Recurrent(const char* who, std::int64_t hidden, std::int64_t gates,
            const RecurrentOptions& options);
  /// One step: the state after it, from what the product of the inputs (and all biases, unless
  /// apart_bias()) gave [n, gates * hidden], the weights [gates * hidden, hidden] by which the
  /// state is multiplied and, with apart_bias(), the bias of that product.
  virtual RecurrentStep step(const Tensor& input, const RecurrentState& state, const Tensor& weight,
                             const Tensor& bias) const = 0;
  virtual bool has_cell() const { return false; }
  /// Whether the state's bias cannot be added to that of the inputs.
  virtual bool apart_bias() const { return false; }
  std::int64_t hidden() const { return hidden_; }

 private:
  void declare(std::int64_t in) const;
  RecurrentResult run_layer(const Tensor& x, const Tensor& counts, int number, bool backwards,
                            const RecurrentState& first) const;
  RecurrentResult scanned(const Tensor& products, const Tensor& counts, const Tensor& weight,
                          const Tensor& bias, const RecurrentState& first, bool backwards) const;
  RecurrentResult unrolled(const Tensor& products, const Tensor& counts, const Tensor& weight,
                           const Tensor& bias, const RecurrentState& first, bool backwards) const;

  const char* who_;
  std::int64_t hidden_;
  std::int64_t gates_;
  RecurrentOptions options_;
};

/// Hochreiter and Schmidhuber 1997, with gates in the order input, forget, cell, output.
class LSTM final : public Recurrent {
 public:
  explicit LSTM(std::int64_t hidden, const RecurrentOptions& options = {});

 protected:
  RecurrentStep step(const Tensor& input, const RecurrentState& state, const Tensor& weight,
                     const Tensor& bias) const override;
  bool has_cell() const override { return true; }
};

/// Cho et al. 2014, as PyTorch and cuDNN have it (the reset gate after the product, Keras's
/// `reset_after`), with gates in the order reset, update, new.
class GRU final : public Recurrent {
 public:
  explicit GRU(std::int64_t hidden, const RecurrentOptions& options = {});

 protected:
  RecurrentStep step(const Tensor& input, const RecurrentState& state, const Tensor& weight,
                     const Tensor& bias) const override;
  bool apart_bias() const override { return true; }
};

/// Elman 1990: tanh, or relu, of both products.
class SimpleRNN final : public Recurrent {
 public:
  enum class Activation : std::uint8_t { tanh, relu };
  explicit SimpleRNN(std::int64_t hidden, const RecurrentOptions& options = {},
                     Activation activation = Activation::tanh);

 protected:
  RecurrentStep step(const Tensor& input, const RecurrentState& state, const Tensor& weight,
                     const Tensor& bias) const override;

 private:
  Activation activation_;
};

}  // namespace plimsoll::nn
