#include <plimsoll/nn/recurrent.h>

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/function/scan.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/recurrent_cells.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

std::string suffix(int layer, bool backwards) {
  return fmt::format("_l{}{}", layer, backwards ? "_reverse" : "");
}

/// The state where `counts` [n, 1] holds, else what it was.
Tensor kept(const Tensor& counts, const Tensor& after, const Tensor& before) {
  return counts.defined() ? ops::where(counts, after, before) : after;
}

/// Slices of all steps begin at multiples of this, as kernels of GPUs want it.
constexpr std::int64_t kAlignment = 16;
bool aligned(const Tensor& x) { return x.type().bytes() % kAlignment == 0; }

/// bool [steps, n and more]: whether each step counts, by the lengths [n]; in rows of a multiple of
/// kAlignment.
Tensor counting(const Tensor& lengths, std::int64_t steps) {
  if (!lengths.defined()) return {};
  const std::int64_t n = lengths.dim(0);
  const Tensor row = ops::reshape(ops::cast(lengths, DType::i64), Shape{1, n});
  const Tensor column = ops::reshape(ops::arange(steps, DType::i64, row), Shape{steps, 1});
  const std::int64_t more = (kAlignment - n % kAlignment) % kAlignment;
  return ops::pad(ops::greater(row, column), {0, 0}, {0, more});
}

/// One row of that as [n, 1].
Tensor counting_row(const Tensor& row, std::int64_t n) {
  return ops::reshape(ops::slice(row, -1, 0, n), Shape{n, 1});
}

/// Piece `i` of the state of all layers and directions, [n, hidden].
Tensor piece(const Tensor& all, std::int64_t i) {
  return ops::reshape(ops::slice(all, 0, i, i + 1), Shape{all.dim(1), all.dim(2)});
}

}  // namespace

Recurrent::Recurrent(const char* who, std::int64_t hidden, std::int64_t gates,
                     const RecurrentOptions& options)
    : who_(who), hidden_(hidden), gates_(gates), options_(options) {
  if (hidden < 1 || options.layers < 1) {
    throw InvalidArgument(fmt::format("[{}] {} layers of {}; there must be at least one of each",
                                      who, options.layers, hidden));
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    throw InvalidArgument(
        fmt::format("[{}] dropout is {}; it must be in [0, 1)", who, options.dropout));
  }
  options.in != 0 ? declare(options.in) : declare_later();
}

void Recurrent::declare(std::int64_t in) const {
  const Init init = Init::fan_in_uniform(hidden_);
  const std::int64_t rows = gates_ * hidden_;
  for (int layer = 0; layer < options_.layers; ++layer) {
    for (const bool backwards : {false, true}) {
      if (backwards && !options_.bidirectional) continue;
      const std::string behind = suffix(layer, backwards);
      const std::int64_t from = layer == 0 ? in : hidden_ * (options_.bidirectional ? 2 : 1);
      parameter("weight_ih" + behind, {rows, from}, init);
      parameter("weight_hh" + behind, {rows, hidden_}, init);
      if (!options_.bias) continue;
      parameter("bias_ih" + behind, {rows}, init);
      parameter("bias_hh" + behind, {rows}, init);
    }
  }
}

/// All steps as one op. What is multiplied comes as [steps, n, gates * hidden].
RecurrentResult Recurrent::scanned(const Tensor& products, const Tensor& counts,
                                   const Tensor& weight, const Tensor& bias,
                                   const RecurrentState& first, bool backwards) const {
  const std::int64_t n = products.dim(1);
  const auto followed = [](const Tensor& x) {
    return x.defined() && ops::Dispatcher::current().follows(x);
  };
  const bool gradients = followed(products) || followed(weight) || followed(bias) ||
                         followed(first.h) || followed(first.c);
  const auto function = [&](const Tensors& states, const Tensors& xs, const Tensors& shared) {
    const RecurrentState before = {states[0], has_cell() ? states[1] : Tensor()};
    const auto [after, gates] =
        step(xs[0], before, shared[0], shared.size() > 1 ? shared[1] : Tensor());
    const Tensor row = xs.size() > 1 ? counting_row(xs[1], n) : Tensor();
    ScanStep result = {.states = {kept(row, after.h, before.h)}};
    if (has_cell()) result.states.push_back(kept(row, after.c, before.c));
    if (gradients && gates.defined()) result.ys.push_back(gates);
    return result;
  };
  Tensors states = {first.h};
  if (has_cell()) states.push_back(first.c);
  Tensors xs = {products};
  if (counts.defined()) xs.push_back(counts);
  Tensors shared = {weight};
  if (bias.defined()) shared.push_back(bias);
  const ScanResult result = scan(function, states, xs, shared, {.reverse = backwards});
  Tensor y = result.states[0];
  if (counts.defined()) {
    const Tensor column = ops::reshape(ops::slice(counts, 1, 0, n), Shape{y.dim(0), n, 1});
    y = ops::where(column, y, ops::full_like_type(y, {y.dtype(), {}}, 0));
  }
  return {y, {result.last[0], has_cell() ? result.last[1] : Tensor()}};
}

/// The same step by step.
RecurrentResult Recurrent::unrolled(const Tensor& products, const Tensor& counts,
                                    const Tensor& weight, const Tensor& bias,
                                    const RecurrentState& first, bool backwards) const {
  const std::int64_t steps = products.dim(0);
  const std::int64_t n = products.dim(1);
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(steps), 1);
  const std::vector<Tensor> inputs = ops::split(products, ones, 0);
  const Tensor zeros = ops::full_like_type(products, {products.dtype(), {n, hidden_}}, 0);
  RecurrentState state = first;
  std::vector<Tensor> outputs(static_cast<std::size_t>(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto t = static_cast<std::size_t>(backwards ? steps - 1 - i : i);
    const Tensor input = ops::reshape(inputs[t], Shape{n, gates_ * hidden_});
    Tensor row;
    if (counts.defined()) {
      const auto at = static_cast<std::int64_t>(t);
      row = counting_row(ops::slice(counts, 0, at, at + 1), n);
    }
    const RecurrentState after = step(input, state, weight, bias).state;
    outputs[t] = kept(row, after.h, zeros);
    state.h = kept(row, after.h, state.h);
    if (has_cell()) state.c = kept(row, after.c, state.c);
  }
  return {ops::stack(outputs, 0), state};
}

/// `x` is [steps, n, features], and so is the result's y.
RecurrentResult Recurrent::run_layer(const Tensor& x, const Tensor& counts, int number,
                                     bool backwards, const RecurrentState& first) const {
  const std::string behind = suffix(number, backwards);
  Tensor bias;
  Tensor state_bias;
  if (options_.bias) {
    bias = *own("bias_ih" + behind);
    const Parameter& other = *own("bias_hh" + behind);
    if (apart_bias()) {
      state_bias = other;
    } else {
      bias = ops::add(bias, other);
    }
  }
  const Tensor products = ops::linear(x, *own("weight_ih" + behind), bias);
  // Cast once, and not in every step.
  const Tensor weight = in_compute_dtype(*own("weight_hh" + behind));
  RecurrentState state = first;
  const Tensor zeros = ops::full_like_type(products, {products.dtype(), {x.dim(1), hidden_}}, 0);
  if (!state.h.defined()) state.h = zeros;
  if (!state.c.defined() && has_cell()) state.c = zeros;
  state.h = ops::cast(state.h, products.dtype());
  if (has_cell()) state.c = ops::cast(state.c, products.dtype());
  return aligned(state.h) ? scanned(products, counts, weight, state_bias, state, backwards)
                          : unrolled(products, counts, weight, state_bias, state, backwards);
}

RecurrentResult Recurrent::run(const Tensor& x, const Tensor& lengths,
                               const RecurrentState& first) const {
  if (x.rank() != 3 || x.dim(1) == 0) {
    throw InvalidArgument(
        fmt::format("[{}] the input is {}; it takes [n, steps, features] with at "
                    "least one step",
                    who_, x.type().to_string()));
  }
  if (own("weight_ih_l0") == nullptr) declare(x.dim(2));
  const std::int64_t n = x.dim(0);
  if (lengths.defined() && lengths.shape() != Shape{n}) {
    throw InvalidArgument(
        fmt::format("[{}] lengths are {} for an input {}; give one for each "
                    "sequence, [{}]",
                    who_, lengths.type().to_string(), x.type().to_string(), n));
  }
  const std::int64_t directions = options_.bidirectional ? 2 : 1;
  const Shape state_shape{options_.layers * directions, n, hidden_};
  for (const Tensor& state : {first.h, first.c}) {
    if (state.defined() && state.shape() != state_shape) {
      throw InvalidArgument(
          fmt::format("[{}] a first state is {}; it must be {}, [layers * "
                      "directions, n, hidden]",
                      who_, state.type().to_string(), state_shape.to_string()));
    }
  }
  const Tensor counts = counting(lengths, x.dim(1));
  // Steps in front, so that those of all sequences lie together.
  Tensor y = ops::transpose(in_compute_dtype(x), {1, 0, 2});
  std::vector<Tensor> h;
  std::vector<Tensor> c;
  for (int layer = 0; layer < options_.layers; ++layer) {
    if (layer > 0 && training() && options_.dropout > 0) y = ops::dropout(y, options_.dropout);
    std::vector<Tensor> sides;
    for (int side = 0; side < directions; ++side) {
      const std::int64_t at = layer * directions + side;
      const RecurrentState from = {first.h.defined() ? piece(first.h, at) : Tensor(),
                                   first.c.defined() ? piece(first.c, at) : Tensor()};
      const RecurrentResult result = run_layer(y, counts, layer, side == 1, from);
      sides.push_back(result.y);
      h.push_back(result.state.h);
      if (has_cell()) c.push_back(result.state.c);
    }
    y = directions == 1 ? sides.front() : ops::concat(sides, 2);
  }
  return {ops::transpose(y, {1, 0, 2}),
          {ops::stack(h, 0), has_cell() ? ops::stack(c, 0) : Tensor()}};
}

Tensor Recurrent::forward(const Tensor& x) const { return run(x).y; }

Tensors Recurrent::forward_all(const Tensors& inputs) const {
  if (inputs.empty() || inputs.size() > 2) {
    throw InvalidArgument(
        fmt::format("[{}] {} inputs; it takes x, or x and lengths", who_, inputs.size()));
  }
  const RecurrentResult result = run(inputs[0], inputs.size() > 1 ? inputs[1] : Tensor());
  Tensors all = {result.y, result.state.h};
  if (has_cell()) all.push_back(result.state.c);
  return all;
}

LSTM::LSTM(std::int64_t hidden, const RecurrentOptions& options)
    : Recurrent("LSTM", hidden, 4, options) {}

RecurrentStep LSTM::step(const Tensor& input, const RecurrentState& state, const Tensor& weight,
                         const Tensor& /*bias*/) const {
  const auto [h, c, gates] = ops::lstm_cell(input, ops::linear(state.h, weight), state.c);
  return {{h, c}, gates};
}

GRU::GRU(std::int64_t hidden, const RecurrentOptions& options)
    : Recurrent("GRU", hidden, 3, options) {}

RecurrentStep GRU::step(const Tensor& input, const RecurrentState& state, const Tensor& weight,
                        const Tensor& bias) const {
  const auto [h, gates] = ops::gru_cell(input, ops::linear(state.h, weight, bias), state.h);
  return {{h, {}}, gates};
}

SimpleRNN::SimpleRNN(std::int64_t hidden, const RecurrentOptions& options, Activation activation)
    : Recurrent("SimpleRNN", hidden, 1, options), activation_(activation) {}

RecurrentStep SimpleRNN::step(const Tensor& input, const RecurrentState& state,
                              const Tensor& weight, const Tensor& /*bias*/) const {
  const Tensor sums = ops::add(input, ops::linear(state.h, weight));
  return {{activation_ == Activation::tanh ? ops::tanh(sums) : ops::relu(sums), {}}, {}};
}

}  // namespace plimsoll::nn
