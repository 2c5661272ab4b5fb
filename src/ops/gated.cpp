#include <plimsoll/ops/gated.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/in_place.h"
#include "ops/written_out.h"

namespace plimsoll::ops {
namespace {

Gate gate_of(const Attributes& attributes) { return static_cast<Gate>(attributes.integer("gate")); }

void check_gate(const OpInputs& inputs) {
  const std::int64_t gate = inputs.attributes().integer("gate");
  if (gate < 0 || gate > static_cast<std::int64_t>(Gate::linear)) {
    inputs.fail(fmt::format("there is no gate {}", gate));
  }
}

/// A few operations for each element that is moved.
Cost gated_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  Cost cost;
  for (const TensorType& type : inputs.types()) {
    cost.bytes += static_cast<double>(type.bytes());
    cost.flops += 6 * static_cast<double>(type.elements());
  }
  for (const TensorType& type : outputs) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

Tensor through_gate(const Tensor& g, Gate gate) {
  switch (gate) {
    case Gate::sigmoid:
      return sigmoid(g);
    case Gate::silu:
      return silu(g);
    case Gate::gelu:
      return gelu(g);
    case Gate::relu:
      return relu(g);
    case Gate::linear:
      break;
  }
  return g;
}

/// dg and dx of gate(g) * x, in ops whose own derivatives exist as far as the gate's do.
std::vector<Tensor> gated_grad_written_out(const Tensor& g, const Tensor& x, const Tensor& dy,
                                           Gate gate) {
  const Tensor by_gate = mul(dy, x);
  const Tensor y = through_gate(g, gate);
  const auto back = [&](const char* name, const Tensor& kept, const Attributes& attributes = {}) {
    return call_one(*find_op(name), {by_gate, kept}, attributes);
  };
  Tensor dg = by_gate;
  if (gate == Gate::sigmoid) dg = back("sigmoid_grad", y);
  if (gate == Gate::silu) dg = back("silu_grad", g);
  if (gate == Gate::gelu) dg = back("gelu_grad", g, {{"tanh", false}});
  if (gate == Gate::relu) dg = back("relu_grad", y);
  return {dg, mul(dy, y)};
}

std::array<Tensor, 2> halves_of(const Tensor& x) {
  const std::int64_t half = x.dim(-1) / 2;
  std::vector<Tensor> both = split(x, {half, half}, -1);
  return {std::move(both[0]), std::move(both[1])};
}

std::vector<TensorType> gated_types(const OpInputs& inputs) {
  check_gate(inputs);
  for (int i = 1; i < inputs.count(); ++i) {
    if (inputs[i] != inputs[0]) inputs.fail("the inputs differ; they need one shape and dtype");
  }
  return {inputs[0]};
}

constexpr std::array<InPlace, 3> kGatedGradInPlace = {{{0, 0}, {1, 1}, {0, 2}}};

const OpDef kGatedGrad = {
    .name = "gated_grad",
    .family = "gated",
    .summary = "the gradients of gated by g and x, of g, x and dy",
    .inputs = 3,
    .types =
        [](const OpInputs& inputs) {
          gated_types(inputs);
          return std::vector<TensorType>{inputs[0], inputs[0]};
        },
    .gradient =
        [](GradientContext& g) {
          by_written_out(g, [&](const std::vector<Tensor>& in) {
            return gated_grad_written_out(in[0], in[1], in[2], gate_of(g.attributes()));
          });
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 7}; },
    .cost = gated_cost,
    .in_place = kGatedGradInPlace,
    .cheap = true,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::pointwise},
};

const OpDef kGated = {
    .name = "gated",
    .family = "gated",
    .summary = "gate(g) * x",
    .inputs = 2,
    .types = gated_types,
    .gradient =
        [](GradientContext& g) {
          const std::array<Tensor, 3> inputs = {g.input(0), g.input(1), g.grad()};
          const std::vector<Tensor> gradients = call(kGatedGrad, inputs, g.attributes());
          for (int i = 0; i < 2; ++i) g.set(i, gradients[static_cast<std::size_t>(i)]);
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 3}; },
    .cost = gated_cost,
    .in_place = kOverEither,
    .cheap = true,
    .channels = {.rule = ChannelRule::pointwise},
};

TensorType half_type(const OpInputs& inputs) {
  check_gate(inputs);
  const Shape& x = inputs.shape(0);
  if (x.rank() == 0 || x.dim(-1) % 2 != 0) {
    inputs.fail("the last dimension is divided into values and gate: it must be even");
  }
  return {inputs.dtype(0), x.with_dim(-1, x.dim(-1) / 2)};
}

const OpDef kGluGrad = {
    .name = "glu_grad",
    .family = "gated",
    .summary = "the gradient of glu, of x and dy",
    .inputs = 2,
    .types =
        [](const OpInputs& inputs) {
          if (inputs[1] != half_type(inputs)) inputs.fail("dy must be half of x");
          return std::vector<TensorType>{inputs[0]};
        },
    .gradient =
        [](GradientContext& g) {
          by_written_out(g, [&](const std::vector<Tensor>& in) {
            const auto [a, b] = halves_of(in[0]);
            const std::vector<Tensor> both =
                gated_grad_written_out(b, a, in[1], gate_of(g.attributes()));
            return std::vector<Tensor>{concat({both[1], both[0]}, -1)};
          });
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 3}; },
    .cost = gated_cost,
    .in_place = kOverFirst,
    .cheap = true,
    .precision = Precision::keep,
};

const OpDef kGlu = {
    .name = "glu",
    .family = "gated",
    .summary = "a * gate(b) of the halves a and b of each row",
    .types = [](const OpInputs& inputs) { return std::vector<TensorType>{half_type(inputs)}; },
    .gradient =
        [](GradientContext& g) {
          g.set(0, call_one(kGluGrad, {g.input(0), g.grad()}, g.attributes()));
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 1}; },
    .cost = gated_cost,
    .cheap = true,
};

constexpr std::array kGatedOps = {&kGated, &kGatedGrad, &kGlu, &kGluGrad};
const RegisterOps kGatedRegistered(kGatedOps);

Attributes gate_attributes(Gate gate) { return {{"gate", static_cast<std::int64_t>(gate)}}; }

}  // namespace

Tensor gated(const Tensor& g, const Tensor& x, Gate gate) {
  return call_one(kGated, {g, x}, gate_attributes(gate));
}

Tensor glu(const Tensor& x, Gate gate) { return call_one(kGlu, {x}, gate_attributes(gate)); }

}  // namespace plimsoll::ops
