// Random numbers that belong to the element: drawn from the pipeline's seed, the epoch and the
// element's identity.
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "data/program/op.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> draw_specs(const SpecInputs& inputs) {
  const DType dtype = inputs.attributes().dtype("dtype");
  if (dtype != DType::f32 && dtype != DType::i64) inputs.fail("draws f32 or i64");
  return {{dtype, inputs.attributes().integers("shape")}};
}

std::vector<TensorSpec> float_specs(const SpecInputs& inputs) {
  return {{DType::f32, inputs.attributes().integers("shape")}};
}

/// Words for the number at `i`: a draw gives four, and what no draw reaches is hashed from them.
std::uint32_t word_of(const ProgramCall& call, std::int64_t i) {
  const auto block = static_cast<std::uint64_t>(i) / 4;
  const Philox::Counter words = call.random();
  if (block == 0) return words[static_cast<std::size_t>(i % 4)];
  const auto low = static_cast<std::uint32_t>(block);
  const auto high = static_cast<std::uint32_t>(block >> 32);
  return Philox::draw({words[0], words[1], low, high},
                      {words[2], words[3]})[static_cast<std::size_t>(i % 4)];
}

template <typename Number>
void fill_f32(ProgramCall& call, Number number) {
  const Shape shape = call.attributes().shape("shape");
  if (shape.rank() == 0) {
    call.give(Value(number(0)));
    return;
  }
  Tensor to = call.output(shape, DType::f32);
  auto* const out = to.mutable_data<float>();
  for (std::int64_t i = 0; i < to.elements(); ++i) out[i] = number(i);
}

void uniform(ProgramCall& call) {
  if (call.attributes().dtype("dtype") == DType::f32) {
    const auto low = static_cast<float>(call.attributes().number("low"));
    const auto high = static_cast<float>(call.attributes().number("high"));
    fill_f32(call,
             [&](std::int64_t i) { return low + (high - low) * Philox::unit(word_of(call, i)); });
    return;
  }
  const auto low = static_cast<std::int64_t>(call.attributes().number("low"));
  const auto high = static_cast<std::int64_t>(call.attributes().number("high"));
  const auto range = static_cast<std::uint64_t>(high - low);
  const auto number = [&](std::int64_t i) {
    const std::uint64_t wide =
        (static_cast<std::uint64_t>(word_of(call, 2 * i)) << 32) | word_of(call, 2 * i + 1);
    return low + static_cast<std::int64_t>(range == 0 ? 0 : wide % range);
  };
  const Shape shape = call.attributes().shape("shape");
  if (shape.rank() == 0) {
    call.give(Value(number(0)));
    return;
  }
  Tensor to = call.output(shape, DType::i64);
  auto* const out = to.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < to.elements(); ++i) out[i] = number(i);
}

void normal(ProgramCall& call) {
  const auto mean = static_cast<float>(call.attributes().number("mean"));
  const auto deviation = static_cast<float>(call.attributes().number("deviation"));
  fill_f32(call, [&](std::int64_t i) {
    const float u = 1 - Philox::unit(word_of(call, 2 * i));  // above 0
    const float v = Philox::unit(word_of(call, 2 * i + 1));
    return mean +
           deviation * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi_v<float> * v);
  });
}

}  // namespace

std::span<const ProgramOp> draw() {
  static constexpr ProgramOp kOps[] = {
      {.name = "draw_uniform",
       .summary = "random numbers from low to below high",
       .inputs = 0,
       .random = true,
       .specs = draw_specs,
       .run = uniform},
      {.name = "draw_normal",
       .summary = "normally distributed random numbers",
       .inputs = 0,
       .random = true,
       .specs = float_specs,
       .run = normal},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
